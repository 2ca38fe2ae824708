"""How a consumed record is printed: for eyes, as plain columns, by a template, as JSON lines, or in hex.

Bytes that are not UTF-8 are never lost silently: JSON shows them as {"base64": …}, the others as \\xNN.
What is for eyes shows control characters so too, since a terminal would obey them.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

Headers = list[tuple[str, bytes | None]]
TIMESTAMP_TYPES = {0: None, 1: "create", 2: "append"}


class DecodedField(NamedTuple):
    """A key or value by its schema."""

    value: Any
    """As JSON has it."""
    schema: int | str
    """The id or GUID."""
    type: str

    @property
    def text(self) -> str:
        if isinstance(self.value, str):
            return self.value
        return json.dumps(self.value, ensure_ascii=False, separators=(",", ":"))


class Consumed(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: str | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    key_decoded: DecodedField | None = None
    value_decoded: DecodedField | None = None

    @classmethod
    def from_message(cls, message: Any) -> "Consumed":
        kind, timestamp = message.timestamp()
        return cls(
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp if TIMESTAMP_TYPES.get(kind) and timestamp >= 0 else None,
            TIMESTAMP_TYPES.get(kind),
            message.key(),
            message.value(),
            message.headers() or [],
        )

    def key_text(self, null: str = "null") -> str:
        return text(self.key, null) if self.key_decoded is None else self.key_decoded.text

    def value_text(self, null: str = "null") -> str:
        return text(self.value, null) if self.value_decoded is None else self.value_decoded.text


@dataclass(frozen=True, slots=True)
class Columns:
    """What `plain` and `pretty` show beside the value."""

    keys: bool = False
    headers: bool = False
    timestamps: bool = False
    offsets: bool = False


Format = Callable[[Consumed], str]


def text(data: bytes | None, null: str = "null") -> str:
    return null if data is None else data.decode("utf-8", "backslashreplace")


# What moves the cursor, rings or paints would let a record rewrite what the terminal shows.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROLS |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\t"}


def visible(data: bytes | str | None) -> str:
    """Text for eyes: on one line, with control characters as escapes."""
    return (data if isinstance(data, str) else text(data)).translate(_CONTROLS)


def when(timestamp: int | None) -> str:
    if timestamp is None:
        return "-"
    moment = datetime.fromtimestamp(timestamp / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def header_text(headers: Headers) -> str:
    return ",".join(f"{name}={text(value)}" for name, value in headers)


def plain(columns: Columns) -> Format:
    """The value alone, or the wanted columns in front of it, separated by tabs."""

    def show(record: Consumed) -> str:
        parts = []
        if columns.timestamps:
            parts.append(when(record.timestamp))
        if columns.offsets:
            parts += [str(record.partition), str(record.offset)]
        if columns.headers:
            parts.append(header_text(record.headers))
        if columns.keys:
            parts.append(record.key_text())
        return "\t".join([*parts, record.value_text(null="")])

    return show


def pretty(columns: Columns, colour: bool) -> Format:
    """One line for a person: where it is, its key, its value; times and headers when asked for."""

    def style(shown: str, fg: str) -> str:
        return click.style(shown, fg=fg) if colour else shown

    def show(record: Consumed) -> str:
        line = style(f"{record.partition}:{record.offset:<6}", fg="bright_black") + " "
        if columns.timestamps:
            line += style(when(record.timestamp), fg="bright_black") + "  "
        if record.key is not None or columns.keys:
            line += style(visible(record.key_text()), fg="cyan") + "  "
        line += style("null", fg="magenta") if record.value is None else visible(record.value_text())
        if columns.headers and record.headers:
            line += "  " + style(visible(header_text(record.headers)), fg="yellow")
        return line

    return show


def as_json(record: Consumed) -> str:
    shown = record._asdict()
    shown["key"] = json_bytes(record.key)
    shown["value"] = json_bytes(record.value)
    shown["headers"] = [[name, json_bytes(value)] for name, value in record.headers]
    for name in ("key", "value"):
        decoded: DecodedField | None = shown.pop(f"{name}_decoded")
        if decoded is not None:
            shown[name] = decoded.value
            shown[f"{name}_schema"] = {"id": decoded.schema, "type": decoded.type}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def json_bytes(data: bytes | None) -> str | dict[str, str] | None:
    """Text where it is UTF-8; `tidelog produce --format json` reads both forms back."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def hexadecimal(record: Consumed) -> str:
    def shown(data: bytes | None) -> str:
        return "null" if data is None else data.hex()

    return f"{record.partition}\t{record.offset}\t{shown(record.key)}\t{shown(record.value)}"


def raw(record: Consumed) -> str:
    """The value's own bytes; stdout turns the escapes back into what they were."""
    return "" if record.value is None else record.value.decode("utf-8", "surrogateescape")


TOKENS: dict[str, Format] = {
    "t": lambda record: record.topic,
    "p": lambda record: str(record.partition),
    "o": lambda record: str(record.offset),
    "k": lambda record: record.key_text(null=""),
    "K": lambda record: str(-1 if record.key is None else len(record.key)),
    "v": lambda record: record.value_text(null=""),
    "s": lambda record: record.value_text(null=""),
    "S": lambda record: str(-1 if record.value is None else len(record.value)),
    "T": lambda record: str(-1 if record.timestamp is None else record.timestamp),
    "d": lambda record: when(record.timestamp),
    "h": lambda record: header_text(record.headers),
    "%": lambda record: "%",
}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}


def template(pattern: str) -> Format:
    """`%k %v` and the like, with \\n and \\t; the tokens are kcat's, plus %v (value) and %d (date)."""
    parts: list[str | Format] = []
    position = 0
    while position < len(pattern):
        mark, name = pattern[position], pattern[position + 1 : position + 2]
        if mark == "%":
            if name not in TOKENS:
                known = " ".join(f"%{token}" for token in TOKENS)
                raise click.BadParameter(f"'%{name}' is not a token of the format; known: {known}.")
            parts.append(TOKENS[name])
        elif mark == "\\" and name in ESCAPES:
            parts.append(ESCAPES[name])
        else:
            parts.append(mark)
            position -= 1
        position += 2
    return lambda record: "".join(part if isinstance(part, str) else part(record) for part in parts)


NAMES = ("pretty", "plain", "json", "hex", "raw")


def choose(
    name: str | None, columns: Columns, *, on_terminal: bool, colour: bool = False
) -> tuple[Format, str]:
    """The format and what ends a record: a template says its own line ends."""
    name = name or ("pretty" if on_terminal else "plain")
    if name == "json":
        return as_json, "\n"
    if name == "hex":
        return hexadecimal, "\n"
    if name == "raw":
        return raw, ""
    if name == "pretty":
        return pretty(columns, colour), "\n"
    if name == "plain":
        return plain(columns), "\n"
    if "%" in name:
        return template(name), "" if name.endswith(("\\n", "\\0")) else "\n"
    raise click.BadParameter(f"'{name}' is neither one of {', '.join(NAMES)} nor a template with % tokens.")
