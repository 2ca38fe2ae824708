"""What each keyword of a schema must be: the types of its value, as the metaschemas have them.

Confluent's registry does not run the metaschemas but reads the keywords it needs. So this is as strict as it
is: a keyword of the wrong type is refused, while duplicates in `required` or an empty `enum` are not.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple

from tidelog.registry.json_schema.drafts import DRAFT_4, Draft
from tidelog.registry.json_schema.paths import Path, shown
from tidelog.registry.parsed import SchemaError

TYPES: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))


class _Rule(NamedTuple):
    holds: Callable[[Any], bool]
    expected: str


def check_keywords(tree: dict[str, Any], draft: Draft, where: Path) -> None:
    """Raises SchemaError for the first keyword whose value is of the wrong type."""
    for keyword, value in tree.items():
        rule = _RULES.get(keyword)
        if draft is DRAFT_4 and keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            rule = _BOOLEAN
        if rule is not None and not rule.holds(value):
            raise SchemaError(
                f"{keyword!r} at '{shown(where)}' must be {rule.expected}, and is {_shown(value)}. "
                "Correct the schema."
            )


def is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return is_number(value) and value >= 0 and Decimal(value).to_integral_value() == value


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


def _shown(value: Any) -> str:
    shown = f"{value}" if isinstance(value, Decimal) else repr(value)
    return shown if len(shown) <= 100 else f"{shown[:100]}..."


def _each(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(holds, value.values()))


_STRING = _Rule(lambda value: isinstance(value, str), "a string")
_BOOLEAN = _Rule(lambda value: isinstance(value, bool), "true or false")
_NUMBER = _Rule(is_number, "a number")
_COUNT = _Rule(_is_count, "a whole number that is not negative")
_STRINGS = _Rule(_is_strings, "an array of strings")
_SCHEMA = _Rule(is_schema, "a schema: an object, true or false")
_SCHEMAS = _Rule(
    lambda value: isinstance(value, list) and bool(value) and all(map(is_schema, value)),
    "an array of at least one schema",
)
_SCHEMAS_BY_NAME = _Rule(_each(is_schema), "an object of schemas")

_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "$id", "$schema", "$anchor"), _STRING),
    **dict.fromkeys(("title", "description", "pattern", "format"), _STRING),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _COUNT),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _COUNT),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _SCHEMAS),
    **dict.fromkeys(("definitions", "$defs", "dependentSchemas", "patternProperties"), _SCHEMAS_BY_NAME),
    **dict.fromkeys(("additionalItems", "additionalProperties", "contains", "propertyNames"), _SCHEMA),
    **dict.fromkeys(("not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"), _SCHEMA),
    "properties": _SCHEMAS_BY_NAME,
    "multipleOf": _Rule(lambda value: is_number(value) and value > 0, "a number above 0"),
    "uniqueItems": _BOOLEAN,
    "required": _STRINGS,
    "enum": _Rule(lambda value: isinstance(value, list), "an array"),
    "type": _Rule(_is_type, f"one of {', '.join(sorted(TYPES))}, or an array of these"),
    "items": _Rule(
        lambda value: is_schema(value) or (isinstance(value, list) and all(map(is_schema, value))),
        "a schema or an array of schemas",
    ),
    "dependencies": _Rule(
        _each(lambda value: is_schema(value) or _is_strings(value)),
        "an object of schemas and arrays of names",
    ),
    "dependentRequired": _Rule(_each(_is_strings), "an object of arrays of names"),
}
