"""Where a schema has schemas inside: by keyword, one level down. Everything else in it is plain data."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tidelog.registry.json_schema.json_text import Tree

ONE: Final = frozenset(
    (
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items"),
        *("not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    )
)
LISTS: Final = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
MAPS: Final = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)


class Subschema(NamedTuple):
    steps: tuple[str | int, ...]
    """Its place in the schema around."""
    tree: Tree


def subschemas(tree: Tree) -> Iterator[Subschema]:
    """Yields each schema directly inside `tree`, with its place. What is no schema there is not judged."""
    if not isinstance(tree, dict):
        return
    for keyword, value in tree.items():
        if keyword in ONE and isinstance(value, dict | bool):
            yield Subschema((keyword,), value)
        elif keyword in LISTS and isinstance(value, list):
            for index, item in enumerate(value):
                yield Subschema((keyword, index), item)
        elif keyword in MAPS and isinstance(value, dict):
            for name, item in value.items():
                if keyword != "dependencies" or not isinstance(item, list):
                    yield Subschema((keyword, name), item)
