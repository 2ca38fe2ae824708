"""Options become text, over several lines where a value is a list or a message."""

import re
from collections.abc import Sequence

from tidelog.registry.protobuf.elements import Entry, Kind, Option, Value

_NAMED = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
}
_TO_ESCAPE = re.compile(r"[\x00-\x1f\x7f\\'\"\udc80-\udcff]")


def quoted(text: str) -> str:
    """Returns the text as a string literal; bytes that were no UTF-8 and control characters in octal."""
    return f'"{_TO_ESCAPE.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    return _NAMED.get(character) or f"\\{ord(character) & 0xFF:03o}"


def indented(lines: Sequence[str]) -> list[str]:
    return ["  " + line for line in lines]


def statement(option: Option) -> list[str]:
    """Returns the lines of `option name = value;`."""
    return _ended(_prefixed("option ", _option(option)), ";")


def bracketed(options: Sequence[Option]) -> list[str]:
    """Returns the lines of ` [name = value]`, to follow a field; of nothing where there are no options."""
    if not options:
        return [""]
    return _prefixed(" ", _short_list([_option(option) for option in options]))


def _option(option: Option) -> list[str]:
    name = f"({option.name})" if option.parenthesized else option.name
    if isinstance(option.value.content, Option):
        return _prefixed(name + ".", _option(option.value.content))
    if option.value.kind is Kind.LIST:
        return _prefixed(name + " = ", _short_list([_value(item) for item in _items(option.value)]))
    return _prefixed(name + " = ", _value(option.value))


def _value(value: Value) -> list[str]:
    content = value.content
    if isinstance(content, str):
        return [quoted(content) if value.kind is Kind.STRING else content]
    if isinstance(content, Option):
        return _option(content)
    if value.kind is Kind.LIST:
        return _list([_value(item) for item in _items(value)])
    lines = ["{"]
    for index, entry in enumerate(content):
        assert isinstance(entry, Entry)
        comma = "," if index < len(content) - 1 else ""
        lines += indented(_ended(_prefixed(entry.key + ": ", _value(entry.value)), comma))
    return [*lines, "}"]


def _items(value: Value) -> list[Value]:
    return [item for item in value.content if isinstance(item, Value)]


def _short_list(items: Sequence[list[str]]) -> list[str]:
    return _ended(_prefixed("[", items[0]), "]") if len(items) == 1 else _list(items)


def _list(items: Sequence[list[str]]) -> list[str]:
    lines = ["["]
    for index, item in enumerate(items):
        lines += indented(_ended(item, "," if index < len(items) - 1 else ""))
    return [*lines, "]"]


def _prefixed(prefix: str, lines: list[str]) -> list[str]:
    return [prefix + lines[0], *lines[1:]]


def _ended(lines: list[str], end: str) -> list[str]:
    return [*lines[:-1], lines[-1] + end]
