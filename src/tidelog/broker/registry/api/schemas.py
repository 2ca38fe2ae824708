"""`/schemas`: schemas by their ids, which records carry, and the list of all of them."""

from collections.abc import Iterable

from tidelog.broker.registry.api.answers import answer_of, encode, list_answer, text_answer
from tidelog.broker.registry.api.formats import text_of, with_references
from tidelog.broker.registry.api.lists import seen_places, seen_subjects
from tidelog.broker.registry.api.pages import SCHEMAS_MAX, bounds, page
from tidelog.broker.registry.api.pauses import CHARS_OF_WORK, Pauses
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.api.shapes import schema_shape, version_shape
from tidelog.broker.registry.authorization import READ
from tidelog.broker.registry.calls import Answer
from tidelog.broker.registry.outcome import ANSWER_BYTES_MAX, too_large
from tidelog.registry import config as settings
from tidelog.registry import subjects
from tidelog.registry.rule_sets import RULE_KINDS
from tidelog.registry.schema import SchemaType
from tidelog.registry.state import lookups, refusals
from tidelog.registry.state.stored import StoredVersion


async def types(request: RegistryRequest) -> Answer:
    return answer_of([SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.AVRO])


async def by_id(request: RegistryRequest) -> Answer:
    stored = await _found(request)
    shape = schema_shape(stored, await text_of(request, stored))
    if request.query.given("subject") is not None:
        shape = {"subject": stored.subject, "version": stored.version, **shape}
    if request.query.flag("fetchMaxId"):
        context = request.state.context(stored.subject)
        shape["maxId"] = stored.id if context is None else context.highest_id
    return answer_of(with_references(request, stored, shape))


async def text_by_id(request: RegistryRequest) -> Answer:
    return text_answer(await text_of(request, await _found(request)))


async def subjects_of_id(request: RegistryRequest) -> Answer:
    places = await _places(request)
    return answer_of(page(dict.fromkeys(place.subject for place in places), request.query))


async def versions_of_id(request: RegistryRequest) -> Answer:
    places = page(await _places(request), request.query)
    return answer_of([{"subject": place.subject, "version": place.version} for place in places])


async def list_schemas(request: RegistryRequest) -> Answer:
    prefix = request.in_context(request.query.text("subjectPrefix"))
    aliases = _aliases(request, prefix) if request.query.flag("aliases") else {}
    pauses = Pauses()
    items, size = [], 0
    for stored in await _listed(request, prefix, aliases):
        shape = version_shape(stored)
        if stored.subject in aliases:
            shape["aliases"] = aliases[stored.subject]
        items.append(encode(shape))
        size += len(items[-1])
        if size > ANSWER_BYTES_MAX:
            return too_large(size)
        await pauses.spend(10 + len(items[-1]) // CHARS_OF_WORK)
    return list_answer(items)


async def _found(request: RegistryRequest) -> StoredVersion:
    """Returns a version with the id that the client may see: the one that it asks for, if it may see that."""
    stored = _with_id(request)
    if not request.authorization.sees(request.call, stored.subject):
        others = await seen_places(request, stored, deleted=True)
        if not others:
            request.authorization.check(request.call, READ, stored.subject)
            raise refusals.schema_not_found(stored.id)
        return others[0]
    return stored


async def _places(request: RegistryRequest) -> list[StoredVersion]:
    """Returns all versions with the id that the client may see; deleted ones only where it asks."""
    stored = _with_id(request)
    places = await seen_places(request, stored, deleted=True)
    if not places:
        request.authorization.check(request.call, READ, stored.subject)
    deleted = request.query.flag("deleted")
    return [place for place in places if deleted or not place.deleted]


def _with_id(request: RegistryRequest) -> StoredVersion:
    return lookups.by_id(request.state, request.number("id"), request.subject_of_query("subject"))


async def _listed(request: RegistryRequest, prefix: str, aliased: Iterable[str]) -> list[StoredVersion]:
    """Returns versions of the subjects with the prefix, and of the aliased ones that the client may see."""
    query, state = request.query, request.state
    which = lookups.Which.ALL if query.flag("deleted") else lookups.Which.LIVE
    only_latest, rule_type = query.flag("latestOnly"), query.text("ruleType")
    asked = bounds(query, SCHEMAS_MAX)
    pauses = Pauses()
    found: list[StoredVersion] = []
    place = 0
    seen = {subject for subject in aliased if request.authorization.sees(request.call, subject)}
    for subject in sorted(seen.union(await seen_subjects(request, prefix, which))):
        versions = [one for one in state.subjects.get(subject, {}).values() if lookups.counts(one, which)]
        for stored in versions[-1:] if only_latest else versions:
            if not rule_type or _has_rule(stored, rule_type):
                if place in asked:
                    found.append(stored)
                place += 1
        if place >= asked.stop:
            break
        await pauses.spend(len(versions))
    return found


def _has_rule(stored: StoredVersion, rule_type: str) -> bool:
    rule_set = stored.schema.rule_set or {}
    return any(rule.get("type") == rule_type for kind in RULE_KINDS for rule in rule_set.get(kind) or ())


def _aliases(request: RegistryRequest, prefix: str) -> dict[str, list[str]]:
    """Returns the other names of subjects, of those with the prefix."""
    has_prefix = lookups.prefix_filter(prefix)
    found: dict[str, list[str]] = {}
    for scope, config in request.state.configs.items():
        alias = config.get(settings.ALIAS)
        if scope and alias and has_prefix(scope) and request.authorization.sees(request.call, scope):
            found.setdefault(subjects.qualified(alias, scope), []).append(scope)
    return found
