"""Java's properties files, which Kafka's tools and clients are configured by: `name=value` in each line."""

import re

_ENDS_OPEN = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_NAME = re.compile(r"(?:\\.|[^\\=:\s])+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


class InvalidProperties(ValueError):
    """A line that is no property. The line's text may be a secret, so only its number is kept."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} is not NAME=VALUE")
        self.line = line


def parse_properties(text: str) -> dict[str, str]:
    """Returns the values by name; the last of a name counts. Raises InvalidProperties."""
    values = {}
    lines = iter(enumerate(text.splitlines(), 1))
    for number, raw in lines:
        line = raw.lstrip()
        if not line or line[0] in "#!":
            continue
        while _ENDS_OPEN.search(line):
            line = line[:-1] + next(lines, (0, ""))[1].lstrip()
        name = _NAME.match(line)
        if name is None:
            raise InvalidProperties(number)
        rest = line[name.end() :].lstrip()
        # After white space alone a value may follow as well, as Java has it.
        value = rest[1:].lstrip() if rest[:1] in ("=", ":") else rest
        if not rest:
            raise InvalidProperties(number)
        values[_unescaped(name[0])] = _unescaped(value)
    return values


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[1]), text)


def _character(escaped: str) -> str:
    return chr(int(escaped[1:], 16)) if len(escaped) == 5 else _ESCAPED.get(escaped, escaped)
