"""Objects: properties that came, went or changed, what is required, and what is allowed beside them.

A property may go where the update takes anything in its place, and may come where the original allowed
nothing there or nothing else. So the content model of the side that lacks it decides.
"""

from tidelog.registry.json_schema.comparing.findings import Comparing, Findings
from tidelog.registry.json_schema.comparing.openness import allowed_by, compare_rests, is_open
from tidelog.registry.json_schema.comparing.pattern_properties import PatternProperties
from tidelog.registry.json_schema.comparing.values import compare_limit
from tidelog.registry.json_schema.shapes import Anything, Nothing, ObjectShape, Part


def compare_objects(original: ObjectShape, update: ObjectShape, found: Findings) -> Comparing:
    found.spend(len(original.properties) + len(update.properties))
    _compare_required(original, update, found)
    yield from _compare_properties(original, update, found)
    yield from _compare_dependencies(original, update, found)
    yield from compare_rests(original.rest, update.rest, "Properties", found)
    compare_limit(found, "MAX_PROPERTIES", "maxProperties", original.max_properties, update.max_properties)
    compare_limit(found, "MIN_PROPERTIES", "minProperties", original.min_properties, update.min_properties)


def _compare_required(original: ObjectShape, update: ObjectShape, found: Findings) -> None:
    for name in original.properties:
        if name in update.properties and (name in original.required) != (name in update.required):
            if name in original.required:
                found.add("REQUIRED_ATTRIBUTE_REMOVED", "required", name)
            elif found.has_default(update.properties[name]):
                found.add("REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED", "required", name)
            else:
                found.add("REQUIRED_ATTRIBUTE_ADDED", "required", name)


def _compare_properties(original: ObjectShape, update: ObjectShape, found: Findings) -> Comparing:
    by_original = PatternProperties(original, found)
    by_update = PatternProperties(update, found)
    for name, part in original.properties.items():
        if name in update.properties:
            found.include((yield part(), update.properties[name]()), "properties", name)
        else:
            yield from _compare_removed(name, part, update, by_update, found)
    for name in update.properties:
        if name not in original.properties:
            yield from _compare_added(name, original, update, by_original, found)


def _compare_removed(
    name: str, part: Part, update: ObjectShape, patterns: PatternProperties, found: Findings
) -> Comparing:
    path = ("properties", name)
    if not update.pattern_properties and is_open(update.rest):
        found.add("PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL", *path)
        return
    covering = patterns.part_of(name) or allowed_by(update.rest)
    if covering is not None:
        outcome = yield part(), covering()
        found.include(outcome, *path)
        verb = "IS" if outcome.is_compatible else "NOT"
        found.add(f"PROPERTY_REMOVED_{verb}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", *path)
    elif isinstance(part(), Nothing):
        found.add("PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL", *path)
    else:
        found.add("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", *path)


def _compare_added(
    name: str, original: ObjectShape, update: ObjectShape, patterns: PatternProperties, found: Findings
) -> Comparing:
    path, part = ("properties", name), update.properties[name]
    if name not in update.required:
        kind = "OPTIONAL_PROPERTY"
    else:
        kind = "REQUIRED_PROPERTY_WITH_DEFAULT" if found.has_default(part) else "REQUIRED_PROPERTY"
    if not original.pattern_properties and is_open(original.rest):
        kind = "PROPERTY_WITH_EMPTY_SCHEMA" if isinstance(part(), Anything) else kind
        found.add(f"{kind}_ADDED_TO_OPEN_CONTENT_MODEL", *path)
        return
    covering = patterns.part_of(name) or allowed_by(original.rest)
    if covering is not None:
        outcome = yield covering(), part()
        found.include(outcome, *path)
        verb = "IS" if outcome.is_compatible else "NOT"
        found.add(f"PROPERTY_ADDED_{verb}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", *path)
    found.add(f"{kind}_ADDED_TO_UNOPEN_CONTENT_MODEL", *path)


def _compare_dependencies(original: ObjectShape, update: ObjectShape, found: Findings) -> Comparing:
    found.spend(sum(map(len, (original.needed_names, update.needed_names))))
    found.spend(sum(map(len, (original.needed_schemas, update.needed_schemas))))
    for name in {**original.needed_names, **update.needed_names}:
        before, after = original.needed_names.get(name), update.needed_names.get(name)
        if before != after:
            found.add(f"DEPENDENCY_ARRAY_{_change(before, after)}", "dependencies", name)
    for name in {**original.needed_schemas, **update.needed_schemas}:
        path = ("dependencies", name)
        if name not in original.needed_schemas:
            found.add("DEPENDENCY_SCHEMA_ADDED", *path)
        elif name not in update.needed_schemas:
            found.add("DEPENDENCY_SCHEMA_REMOVED", *path)
        else:
            found.include((yield original.needed_schemas[name](), update.needed_schemas[name]()), *path)


def _change(before: frozenset[str] | None, after: frozenset[str] | None) -> str:
    if before is None or after is None:
        return "ADDED" if before is None else "REMOVED"
    if before < after:
        return "EXTENDED"
    return "NARROWED" if before > after else "CHANGED"
