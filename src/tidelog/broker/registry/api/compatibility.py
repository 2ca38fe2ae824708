"""`/compatibility`: what a registration would say, without a registration."""

from typing import Any

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.bodies import SchemaBody
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.sent import normalizes, sent_schema
from tidelog.broker.registry.authorization import READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry.config import checks_of, validates_new
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import lookups, refusals
from tidelog.registry.state.jobs import comparison_job
from tidelog.registry.state.lookups import LATEST
from tidelog.registry.state.stored import StoredVersion


async def check_subject(request: RegistryRequest) -> Answer:
    """Against the versions that the subject's level asks for."""
    subject = request.permitted_subject(READ)
    versions = request.state.subjects.get(subject, {}).values()
    return await _checked(request, subject, [one for one in reversed(versions) if not one.deleted])


async def check_version(request: RegistryRequest) -> Answer:
    """Against one version, in the directions that the subject's level asks for."""
    subject = request.permitted_subject(READ)
    version = lookups.checked_version(request.text("version"))
    stored = lookups.latest(request.state, subject)
    if version != LATEST:
        stored = request.state.subjects.get(subject, {}).get(version)
        if stored is None or stored.deleted:
            raise refusals.version_not_found(version)
    return await _checked(request, subject, [] if stored is None else [stored])


async def _checked(request: RegistryRequest, subject: str, newest_first: list[StoredVersion]) -> Answer:
    schema = sent_schema(request, subject, request.body(SchemaBody))
    is_verbose = request.query.flag("verbose")
    config = lookups.config_in_scope(request.state, subject)
    try:
        job = comparison_job(
            request.state,
            subject,
            schema,
            newest_first,
            normalize=normalizes(request, subject),
            checks=checks_of(config),
        )
        problems = (await request.leading.prepare(job._replace(is_new=validates_new(config)))).problems
    except RegistryError as error:
        if not is_verbose or error.code is not RegistryCode.INVALID_SCHEMA:
            raise
        problems = (error.message,)
    found: dict[str, Any] = {"is_compatible": not problems}
    if is_verbose:
        found["messages"] = problems
    return answer_of(found)
