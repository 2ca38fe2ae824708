"""`POST /subjects/{subject}`: the version of a subject with a content.

As in Confluent's registry, a subject of the default context that does not have it is looked for under the
same name in the other contexts.
"""

from collections.abc import Iterator
from itertools import islice

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.bodies import SchemaBody
from tidelog.broker.registry.api.formats import text_of
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.sent import normalizes, sent_schema
from tidelog.broker.registry.api.shapes import version_shape
from tidelog.broker.registry.authorization import READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import lookups, refusals
from tidelog.registry.state.jobs import schema_job
from tidelog.registry.state.lookups import Which
from tidelog.registry.state.matching import looked_up
from tidelog.registry.state.stored import StoredVersion

OTHER_CONTEXTS_MAX = 20
"""Contexts with a subject of that name: the schema may mean another one in each, and is parsed for each."""

_NOT_THERE = {RegistryCode.SUBJECT_NOT_FOUND, RegistryCode.SCHEMA_NOT_FOUND}
_NOT_THERE_EITHER = {*_NOT_THERE, RegistryCode.INVALID_SCHEMA, RegistryCode.FORBIDDEN}
"""What the schema refers to may be missing in another context, or be hidden from the client."""


async def look_up(request: RegistryRequest) -> Answer:
    subject, body = request.subject(), request.body(SchemaBody)
    body.checked()
    stored = await _found(request, subject, body)
    return answer_of(version_shape(stored, await text_of(request, stored)))


async def _found(request: RegistryRequest, subject: str, body: SchemaBody) -> StoredVersion:
    """A subject that the client may not see counts as missing: no answer tells whether it is there."""
    missing = refusals.subject_not_found(subject)
    if request.authorization.sees(request.call, subject):
        try:
            return await _under(request, subject, body)
        except RegistryError as error:
            if error.code not in _NOT_THERE:
                raise
            missing = error
    found = await _elsewhere(request, subject, body)
    if found is None:
        request.authorization.check(request.call, READ, subject)
        raise missing
    return found


async def _under(request: RegistryRequest, subject: str, body: SchemaBody) -> StoredVersion:
    deleted = request.query.flag("deleted")
    lookups.versions_of(request.state, subject, Which.ALL if deleted else Which.LIVE)  # or it is not found
    schema = sent_schema(request, subject, body)
    normalize = normalizes(request, subject)
    job = schema_job(request.state, subject, schema, normalize=normalize)
    prepared = await request.leading.prepare(job)
    return looked_up(request.state, subject, schema, prepared, normalize=normalize, deleted=deleted)


async def _elsewhere(request: RegistryRequest, subject: str, body: SchemaBody) -> StoredVersion | None:
    for other in list(islice(_seen_elsewhere(request, subject), OTHER_CONTEXTS_MAX)):
        try:
            return await _under(request, other, body)
        except RegistryError as error:
            if error.code not in _NOT_THERE_EITHER:
                raise
    return None


def _seen_elsewhere(request: RegistryRequest, subject: str) -> Iterator[str]:
    for other in lookups.elsewhere(request.state, subject):
        if other in request.state.subjects and request.authorization.sees(request.call, other):
            yield other
