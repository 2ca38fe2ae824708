"""JSON as Java's Avro reads and writes it: with comments, keys in order, doubles as Java writes them.

What is written here is compared as text, byte by byte, with what Confluent's registry has stored.
"""

import json
import re
from math import inf, isnan
from typing import Any

from tidelog.registry.avro.names import shown
from tidelog.registry.parsed import SchemaError

# Each alternative also ends with the text, so that every character is looked at once.
_STRING_OR_COMMENT = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_ESCAPES = {
    **{chr(code): f"\\u{code:04X}" for code in range(0x20)},
    **{"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"},
}


def load(text: str) -> Any:
    """Raises SchemaError where the text is no JSON."""
    if not text.strip():
        raise SchemaError("The schema is an empty text.")
    try:
        return _decode(text)
    except ValueError as error:
        reason = str(error)
    without_comments = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    try:
        return _decode(without_comments)
    except ValueError:
        raise SchemaError(f"The schema is no JSON: {reason}. It begins with: {shown(text[:100])}") from None


def _decode(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def dump(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _double(value)
        case str():
            return string(value)
        case dict():
            return "{" + ",".join(f"{string(key)}:{dump(inner)}" for key, inner in value.items()) + "}"
        case _:
            return "[" + ",".join(dump(inner) for inner in value) + "]"


def string(text: str) -> str:
    return f'"{_ESCAPED.sub(lambda match: _ESCAPES[match[0]], text)}"'


def _double(value: float) -> str:
    """Returns Java's Double.toString: 1.0E7 from there on and below 0.001, with a digit after the point."""
    if isnan(value):
        return '"NaN"'
    if value in (inf, -inf):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    shortest = next(text for digits in range(17) if float(text := f"{value:.{digits}e}") == value)
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{int(exponent)}"
