"""A `.proto` text becomes tokens: names, numbers, strings and symbols; comments and blanks fall away.

Any text ends in tokens or in a SchemaError with the line; the work is linear in the text.
"""

import re
from enum import IntEnum
from typing import NamedTuple

from tidelog.registry.parsed import SchemaError


class TokenKind(IntEnum):
    NAME = 0
    NUMBER = 1
    STRING = 2
    SYMBOL = 3
    END = 4


class Token(NamedTuple):
    kind: TokenKind
    text: str
    position: int


# Possessive repetition: a text that does not match is given up at once, whatever it is made of.
_TOKEN = re.compile(
    r"""
    (?P<blank> [ \t\r\n\f\v\ufeff]++ | //[^\n]*+ | /\*(?s:.*?)\*/ )
    | (?P<NAME> [A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<NUMBER> 0[xX][0-9A-Fa-f]++ | (?: [0-9]++ (?:\.[0-9]*+)? | \.[0-9]++ ) (?:[eE][+-]?[0-9]++)? [fF]? )
    | (?P<STRING> "(?:[^"\\\n]|\\[^\n])*+" | '(?:[^'\\\n]|\\[^\n])*+' )
    | (?P<SYMBOL> [][{}()<>=;,.:+-] | /(?![/*]) )
    """,
    re.VERBOSE,
)
_KINDS = {kind.name: kind for kind in TokenKind}

_ESCAPE = re.compile(
    rb"""\\(?: [xX]([0-9A-Fa-f]{1,2}) | ([0-7]{1,3}) | u([0-9A-Fa-f]{4}) | U([0-9A-Fa-f]{8}) | (.) )""",
    re.VERBOSE | re.DOTALL,
)
_SIMPLE = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
    b"?": b"?",
    b"\\": b"\\",
    b"'": b"'",
    b'"': b'"',
}


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    position = 0
    match = _TOKEN.match
    while position < len(text):
        found = match(text, position)
        if found is None:
            raise SchemaError(_unreadable(text, position))
        group = found.lastgroup
        if group != "blank":
            assert group is not None
            tokens.append(Token(_KINDS[group], found.group(), position))
        position = found.end()
    tokens.append(Token(TokenKind.END, "", position))
    return tokens


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def unquoted(token: str) -> str:
    """Returns what a string token says. Bytes that are no UTF-8 become surrogates."""
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_unescaped, inner.encode("utf-8", "surrogateescape")).decode(
        "utf-8", "surrogateescape"
    )


def _unescaped(match: re.Match[bytes]) -> bytes:
    hexadecimal, octal, short, long, simple = match.groups()
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if simple is not None:
        found = _SIMPLE.get(simple)
        if found is None:
            raise SchemaError(
                f"A string has the escape \\{simple.decode(errors='replace')}, which Protobuf does not know."
            )
        return found
    code = int(short or long, 16)
    try:
        return chr(code).encode()
    except (ValueError, OverflowError, UnicodeEncodeError):
        raise SchemaError(f"A string has the escape of U+{code:X}, which is no character.") from None


def _unreadable(text: str, position: int) -> str:
    line = line_of(text, position)
    first = text[position]
    if first in "\"'":
        return f"Line {line}: a string does not end on its line. Close it with {first}."
    if text.startswith("/*", position):
        return f"Line {line}: a comment does not end. Close it with */."
    return (
        f"Line {line}: the character {first!r} has no meaning in a .proto file outside strings and comments."
    )
