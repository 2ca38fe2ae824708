"""JSON text to a tree and back, byte for byte as Confluent's registry (Jackson) reads and writes it.

Numbers with a fraction or an exponent become Decimals, so that `1.50` stays `1.50`. Everything is bounded
before Python's own parser sees it: nesting, the digits of a number, its exponent.
"""

import json
import re
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any, Final, TypeAlias

from tidelog.registry.parsed import SchemaError

Tree: TypeAlias = Any
"""None, bool, int, Decimal, str, a list of trees, or a dict of trees."""

NESTING_MAX: Final = 300
NUMBER_CHARS_MAX: Final = 1000
EXPONENT_MAX: Final = 100_000
"""Far beyond any double, and small enough that comparing such numbers is quick."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
"""A string that does not end is one token, too, so that each character is looked at once."""
_ESCAPES = re.compile(r"\\(?:u00[0-9a-f]{2}|.)")


def read(text: str, what: str = "The schema") -> Tree:
    """Raises SchemaError where the text is no JSON, or is beyond a limit. `what` names it for people."""
    _check_nesting(text, what)
    try:
        tree = json.loads(text, parse_int=_integer, parse_float=_decimal, parse_constant=_constant)
        if not text.isascii() or "\\u" in text:
            write(tree).encode()
    except UnicodeEncodeError:
        raise SchemaError(
            f"{what} has half of a surrogate pair (\\ud800 to \\udfff), which is no character. Remove it."
        ) from None
    except ValueError as error:
        raise SchemaError(f"{what} is no valid JSON: {error}. Correct the text.") from None
    return tree


def write(tree: Tree) -> str:
    """Returns the text as Jackson writes it: no spaces, keys in their order."""
    pieces: list[str] = []
    _write(tree, pieces.append)
    return "".join(pieces)


def ordered(tree: Tree) -> Tree:
    """Returns the tree with the keys of each object sorted as Java sorts them, by UTF-16 code units."""
    if isinstance(tree, dict):
        sorted_object: dict[str, Tree] = {}
        for key in sorted(tree, key=_utf_16):
            sorted_object[key] = ordered(tree[key])
        return sorted_object
    return list(map(ordered, tree)) if isinstance(tree, list) else tree


def _write(tree: Tree, emit: Any) -> None:
    match tree:
        case str():
            emit(_string(tree))
        case None:
            emit("null")
        case bool():
            emit("true" if tree else "false")
        case dict():
            separator = "{"
            for key, value in tree.items():
                emit(f"{separator}{_string(key)}:")
                _write(value, emit)
                separator = ","
            emit("}" if tree else "{}")
        case list():
            separator = "["
            for item in tree:
                emit(separator)
                _write(item, emit)
                separator = ","
            emit("]" if tree else "[]")
        case _:
            emit(str(tree))


def _string(text: str) -> str:
    """Jackson writes the digits of an escape in upper case, Python in lower case."""
    encoded: str = encode_basestring(text)
    return _ESCAPES.sub(_upper, encoded) if "\\u00" in encoded else encoded


def _upper(match: re.Match[str]) -> str:
    escape = match[0]
    return f"\\u{escape[2:].upper()}" if escape.startswith("\\u") else escape


def _utf_16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _check_nesting(text: str, what: str) -> None:
    if text.count("[") + text.count("{") <= NESTING_MAX:
        return
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > NESTING_MAX:
                raise SchemaError(
                    f"{what} is nested deeper than {NESTING_MAX} levels. Move inner schemas to definitions, "
                    "or to schemas of their own that it references."
                )
        elif token[0] in "]}":
            depth -= 1


def _integer(digits: str) -> int:
    _check_length(digits)
    return int(digits)


def _decimal(digits: str) -> Decimal:
    _check_length(digits)
    _check_exponent(digits)
    number = Decimal(digits)
    written = str(number)  # has all digits before its exponent, which grows by their number
    _check_length(written)
    _check_exponent(written)
    return number if number else abs(number)  # Java knows no negative zero


def _check_exponent(digits: str) -> None:
    exponent = digits.lower().partition("e")[2]
    if exponent and (len(exponent) > 8 or abs(int(exponent)) > EXPONENT_MAX):
        raise ValueError(f"the exponent of the number {digits} is beyond {EXPONENT_MAX}")


def _check_length(digits: str) -> None:
    if len(digits) > NUMBER_CHARS_MAX:
        raise ValueError(f"a number has more than {NUMBER_CHARS_MAX} characters")


def _constant(name: str) -> Decimal:
    raise ValueError(f"{name} is no number in JSON")
