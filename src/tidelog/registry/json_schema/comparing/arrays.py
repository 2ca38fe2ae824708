"""Arrays: the schema of every item, the schemas of the first items, and what may follow."""

from tidelog.registry.json_schema.comparing.findings import Comparing, Findings
from tidelog.registry.json_schema.comparing.openness import allowed_by, compare_rests, is_open
from tidelog.registry.json_schema.comparing.values import compare_limit
from tidelog.registry.json_schema.shapes import Anything, ArrayShape, Nothing, Part


def compare_arrays(original: ArrayShape, update: ArrayShape, found: Findings) -> Comparing:
    found.spend(len(original.items) + len(update.items))
    if original.every_item is not None and update.every_item is not None:
        found.include((yield original.every_item(), update.every_item()), "items")
    elif original.every_item is not None or update.every_item is not None:
        found.add("SCHEMA_ADDED" if original.every_item is None else "SCHEMA_REMOVED", "items")
    yield from _compare_items(original, update, found)
    yield from compare_rests(original.rest, update.rest, "Items", found)
    compare_limit(found, "MAX_ITEMS", "maxItems", original.max_items, update.max_items)
    compare_limit(found, "MIN_ITEMS", "minItems", original.min_items, update.min_items)
    if original.is_unique != update.is_unique:
        found.add("UNIQUE_ITEMS_REMOVED" if original.is_unique else "UNIQUE_ITEMS_ADDED", "uniqueItems")
    compare_limit(found, "MAX_CONTAINS", "maxContains", original.max_contains, update.max_contains)
    compare_limit(found, "MIN_CONTAINS", "minContains", original.min_contains, update.min_contains)


def _compare_items(original: ArrayShape, update: ArrayShape, found: Findings) -> Comparing:
    both = min(len(original.items), len(update.items))
    for index in range(both):
        found.include((yield original.items[index](), update.items[index]()), "items", index)
    for index in range(both, len(original.items)):
        yield from _compare_removed(original.items[index], index, update, found)
    for index in range(both, len(update.items)):
        yield from _compare_added(update.items[index], index, original, found)


def _compare_removed(part: Part, index: int, update: ArrayShape, found: Findings) -> Comparing:
    covering = allowed_by(update.rest)
    if is_open(update.rest):
        found.add("ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL", "items", index)
    elif covering is not None:
        outcome = yield part(), covering()
        found.include(outcome, "items", index)
        verb = "IS" if outcome.is_compatible else "NOT"
        found.add(f"ITEM_REMOVED_{verb}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "items", index)
    elif isinstance(part(), Nothing):
        found.add("ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL", "items", index)
    else:
        found.add("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", "items", index)


def _compare_added(part: Part, index: int, original: ArrayShape, found: Findings) -> Comparing:
    covering = allowed_by(original.rest)
    if is_open(original.rest):
        kind = "ITEM_WITH_EMPTY_SCHEMA_ADDED" if isinstance(part(), Anything) else "ITEM_ADDED"
        found.add(f"{kind}_TO_OPEN_CONTENT_MODEL", "items", index)
    elif covering is not None:
        outcome = yield covering(), part()
        found.include(outcome, "items", index)
        verb = "IS" if outcome.is_compatible else "NOT"
        found.add(f"ITEM_ADDED_{verb}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "items", index)
    else:
        found.add("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL", "items", index)
