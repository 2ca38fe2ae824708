"""`/subjects`: their names, the version with some metadata, and their deletion."""

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.formats import text_of
from tidelog.broker.registry.api.lists import seen_subjects
from tidelog.broker.registry.api.pages import page
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.shapes import version_shape
from tidelog.broker.registry.authorization import DELETE, READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry.state import lookups, refusals
from tidelog.registry.state.lookups import Which
from tidelog.registry.subjects import ALL_CONTEXTS


async def list_subjects(request: RegistryRequest) -> Answer:
    query = request.query
    prefix = query.given("subjectPrefix")
    if prefix is None:
        prefix = ALL_CONTEXTS if request.context is None else ""
    which = Which.ALL if query.flag("deleted") else Which.LIVE
    which = Which.DELETED if query.flag("deletedOnly") else which
    return answer_of(page(await seen_subjects(request, request.in_context(prefix), which), query))


async def latest_with_metadata(request: RegistryRequest) -> Answer:
    """The newest version whose metadata have all the given properties."""
    query, subject = request.query, request.permitted_subject(READ)
    wanted = dict(zip(query.texts("key"), query.texts("value"), strict=False)).items()
    which = Which.ALL if query.flag("deleted") else Which.LIVE
    for stored in reversed(lookups.versions_of(request.state, subject, which)):
        properties = (stored.schema.metadata or {}).get("properties")
        if properties is not None and wanted <= properties.items():
            return answer_of(version_shape(stored, await text_of(request, stored)))
    raise refusals.schema_not_found()


async def delete(request: RegistryRequest) -> Answer:
    subject = request.permitted_subject(DELETE)
    permanent = request.query.flag("permanent")
    return answer_of(
        await request.leading.write(lambda shard: shard.delete_subject(subject, permanent=permanent))
    )
