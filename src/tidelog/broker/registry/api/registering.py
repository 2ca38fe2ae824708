"""`POST /subjects/{subject}/versions`: a schema gets an id and a version, or those that it has already.

The expensive part runs beside the event loop, on data as they were. Where the subject has changed meanwhile,
it runs again.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.bodies import SchemaBody
from tidelog.broker.registry.api.formats import text_of
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.sent import sent_schema
from tidelog.broker.registry.api.shapes import schema_shape
from tidelog.broker.registry.authorization import REGISTER
from tidelog.broker.registry.calls import Answer
from tidelog.coordination.decision import ShardDecision
from tidelog.registry import subjects
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.preparing import Job, Prepared
from tidelog.registry.state.registering import NEW_ID, NEXT_VERSION, Registration
from tidelog.registry.state.shard import RegistryShard
from tidelog.registry.state.stored import StoredVersion

TRIES_MAX = 20

Decide: TypeAlias = Callable[[RegistryShard], ShardDecision[StoredVersion | Job | RegistryError]]


async def register(request: RegistryRequest) -> Answer:
    subject = subjects.checked_subject(request.permitted_subject(REGISTER))
    body = request.body(SchemaBody)
    registration = Registration(
        subject,
        sent_schema(request, subject, body),
        version=NEXT_VERSION if body.version is None else body.version,
        id=NEW_ID if body.id is None or body.id < 0 else body.id,
        normalize=request.query.flag("normalize") or None,
        force=request.query.flag("force"),
    )
    known = request.leading.shard.job(registration)
    if isinstance(known, StoredVersion):  # producers register what they write each time they start
        stored = known
    else:
        stored = await _registered(request, registration, known)
    answer = {"id": stored.id, "version": stored.version, "guid": stored.guid}
    if _is_asked_for(request, registration, stored):
        answer |= schema_shape(stored, await text_of(request, stored))
    return answer_of(answer)


def _is_asked_for(request: RegistryRequest, registration: Registration, stored: StoredVersion) -> bool:
    """Whether the client gets the schema itself: in a format, or since more is stored than it sent.

    Clients keep the text of an answer as what the id stands for. One that sent a Protobuf schema as a
    descriptor could not read it as a text.
    """
    sent = registration.schema
    is_completed = (sent.metadata, sent.rule_set) != (stored.schema.metadata, stored.schema.rule_set)
    return is_completed or not sent.text.strip() or bool(request.query.text("format").strip())


async def _registered(request: RegistryRequest, registration: Registration, job: Job) -> StoredVersion:
    for _ in range(TRIES_MAX):
        prepared = await request.leading.prepare(job)
        decide: Decide = partial(_decide, registration, job, prepared)
        answer: StoredVersion | Job = await request.leading.write(decide)
        if isinstance(answer, StoredVersion):
            return answer
        job = answer
    raise RegistryError(
        RegistryCode.OPERATION_TIMEOUT,
        f"Register operation timed out: subject '{registration.subject}' changed {TRIES_MAX} times "
        "meanwhile. Try again in a moment.",
    )


def _decide(
    registration: Registration, job: Job, prepared: Prepared, shard: RegistryShard
) -> ShardDecision[StoredVersion | Job | RegistryError]:
    return shard.register(registration, job, prepared)
