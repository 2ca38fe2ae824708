"""`/schemas/guids`: schemas by a hash of their content, which is the same in every context and registry."""

from tidelog.broker.registry.api.answers import answer_of
from tidelog.broker.registry.api.formats import text_of
from tidelog.broker.registry.api.lists import seen_places
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.shapes import schema_shape
from tidelog.broker.registry.authorization import READ
from tidelog.broker.registry.calls import Answer
from tidelog.registry import subjects
from tidelog.registry.state import lookups
from tidelog.registry.state.stored import StoredVersion


async def by_guid(request: RegistryRequest) -> Answer:
    found = await _seen(request)
    stored = next(iter(found.values()))
    return answer_of(schema_shape(stored, await text_of(request, stored)))


async def ids(request: RegistryRequest) -> Answer:
    found = await _seen(request)
    return answer_of([{"context": context, "id": stored.id} for context, stored in found.items()])


async def _seen(request: RegistryRequest) -> dict[str, StoredVersion]:
    """Returns a version in each context that has the content, of those that the client may see."""
    state, seen = request.state, {}
    for context, schema_id in lookups.ids_of_guid(state, request.text("guid")):
        first = lookups.by_id(state, schema_id, subjects.scope_of_context(context) or "")
        if request.authorization.sees(request.call, first.subject):
            seen[context] = first
        elif others := await seen_places(request, first, deleted=True):
            seen[context] = others[0]
    if not seen:
        request.authorization.check(request.call, READ, first.subject)
    return seen
