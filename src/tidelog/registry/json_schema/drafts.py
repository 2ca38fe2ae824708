"""The drafts of JSON Schema, and which keywords belong to which type in each.

A schema says its draft in `$schema`. Without it, or with an unknown one, it is of draft 7, as Confluent has
it.
"""

from dataclasses import dataclass, replace
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Draft:
    name: str
    id_keyword: str
    references: tuple[str, ...]
    composes: bool
    """Whether keywords beside a `$ref` count. Since 2019-09 they do."""
    strings: frozenset[str]
    arrays: frozenset[str]
    objects: frozenset[str]


NUMBERS: Final = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
CONDITIONS: Final = frozenset(("if", "then", "else"))

_STRINGS = frozenset(("minLength", "maxLength", "pattern"))
_ARRAYS_4 = frozenset(("items", "additionalItems", "minItems", "maxItems", "uniqueItems"))
_ARRAYS_6 = _ARRAYS_4 | {"contains"}
_ARRAYS_2019 = _ARRAYS_6 | {"minContains", "maxContains", "unevaluatedItems"}
_OBJECTS_4 = frozenset(
    (
        *("properties", "required", "minProperties", "maxProperties"),
        *("dependencies", "patternProperties", "additionalProperties"),
    )
)
_OBJECTS_6 = _OBJECTS_4 | {"propertyNames"}
_OBJECTS_2019 = (_OBJECTS_6 - {"dependencies"}) | {
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
}

DRAFT_4: Final = Draft("draft-04", "id", ("$ref",), False, _STRINGS | {"format"}, _ARRAYS_4, _OBJECTS_4)
DRAFT_6: Final = Draft("draft-06", "$id", ("$ref",), False, _STRINGS | {"format"}, _ARRAYS_6, _OBJECTS_6)
DRAFT_7: Final = replace(DRAFT_6, name="draft-07")
DRAFT_2019: Final = Draft(
    "2019-09", "$id", ("$ref", "$recursiveRef"), True, _STRINGS, _ARRAYS_2019, _OBJECTS_2019
)
DRAFT_2020: Final = replace(
    DRAFT_2019, name="2020-12", references=("$ref", "$dynamicRef"), arrays=_ARRAYS_2019 | {"prefixItems"}
)

_DRAFTS = (DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019, DRAFT_2020)


def draft_of(tree: Any) -> Draft:
    address = tree.get("$schema") if isinstance(tree, dict) else None
    if isinstance(address, str) and "json-schema.org/" in address:
        for draft in _DRAFTS:
            if f"/{draft.name}/schema" in address:
                return draft
    return DRAFT_7
