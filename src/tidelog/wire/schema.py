"""Reads the table of messages: `schema.txt`, and the part of it that every generated module carries.

One line is a message (`ProduceRequest 0 req 3-13 flex=9`) or, indented below it, a field
(`name type [versions] [tag=N] [=default]`). A field without versions lives as long as its parent.
Nothing here runs on import: a message is parsed when its first decoder or encoder is compiled.
"""

import re
from typing import NamedTuple

from tidelog.base.invariant import broken

SCALARS = frozenset(("i8", "i16", "i32", "i64", "u16", "u32", "f64", "bool", "str", "bytes", "rec", "uuid"))

_TYPE = re.compile(r"(\[\])?(\w+)(?:(\?)(\S+)?)?")
_VERSIONS = re.compile(r"(\d+)(?:(\+)|-(\d+))?")
_FOREVER = 1 << 15


class Versions(NamedTuple):
    first: int
    last: int

    def hold(self, version: int) -> bool:
        return self.first <= version <= self.last

    def cover(self, other: "Versions") -> bool:
        return self.first <= other.first and other.last <= self.last


class Field(NamedTuple):
    name: str
    type: str
    """A name from SCALARS, or that of a struct; of the elements, where `is_array`."""
    is_array: bool
    fields: tuple["Field", ...]
    """The fields of the struct; empty for a scalar."""
    versions: Versions
    nullable: Versions | None
    tag: int | None
    default: object

    @property
    def is_struct(self) -> bool:
        return self.type not in SCALARS

    def nullable_in(self, version: int) -> bool:
        return self.nullable is not None and self.nullable.hold(version)


class MessageSchema(NamedTuple):
    name: str
    api_key: int
    is_request: bool
    versions: Versions
    first_flexible: int | None
    fields: tuple[Field, ...]
    lines: tuple[str, ...]

    def is_flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible

    @property
    def api_name(self) -> str:
        return self.name.removesuffix("Request" if self.is_request else "Response")


def parse_table(text: str) -> list[MessageSchema]:
    return [parse_message(block) for block in text.split("\n\n") if block.strip()]


def parse_message(block: str) -> MessageSchema:
    lines = tuple(line for line in block.splitlines() if line.strip())
    name, key, kind, span, flexible = lines[0].split()
    versions = _versions(span, Versions(0, _FOREVER))
    first_flexible = flexible.removeprefix("flex=")
    fields, end = _fields(lines, 1, 1, versions)
    if end != len(lines):
        broken("a line of the schema is indented too deep", line=lines[end])
    return MessageSchema(
        name=name,
        api_key=int(key),
        is_request=kind == "req",
        versions=versions,
        first_flexible=None if first_flexible == "none" else int(first_flexible),
        fields=fields,
        lines=lines,
    )


def _fields(lines: tuple[str, ...], at: int, depth: int, parent: Versions) -> tuple[tuple[Field, ...], int]:
    found = []
    while at < len(lines) and _depth(lines[at]) == depth:
        line, at = lines[at], at + 1
        inner: tuple[Field, ...] = ()
        own = _own_versions(line, parent)
        if at < len(lines) and _depth(lines[at]) == depth + 1:
            inner, at = _fields(lines, at, depth + 1, own)
        found.append(_field(line, own, inner))
    return tuple(found), at


def _field(line: str, versions: Versions, inner: tuple[Field, ...]) -> Field:
    name, type_token, *rest = line.split()
    match = _TYPE.fullmatch(type_token)
    if match is None:
        broken("the schema names a type that does not parse", line=line)
    array, type_name, nullable, null_span = match.groups()
    if (type_name in SCALARS) == bool(inner):
        broken("a struct needs fields and a scalar has none", line=line)
    tag = next((int(token[4:]) for token in rest if token.startswith("tag=")), None)
    stated = next((token[1:] for token in rest if token.startswith("=")), "")
    null_versions = _versions(null_span, versions) if null_span else versions
    field = Field(
        name=name,
        type=type_name,
        is_array=array is not None,
        fields=inner,
        versions=versions,
        nullable=null_versions if nullable else None,
        tag=tag,
        default=None,
    )
    return field._replace(default=_default(field, stated))


def _default(field: Field, stated: str) -> object:
    """What a field is when it was not set. Arrays answer () here; the generated class makes a list of it."""
    if stated == "None" and field.type == "i64" and not field.nullable:
        return -1  # `log_append_time … =None`: "no time" is -1 on the wire
    if stated and stated != "None":
        return stated == "True" if field.type == "bool" else int(stated)
    # Null is a safe default only where every version can write it (not so JoinGroup's protocol_name).
    if field.nullable is not None and field.nullable.cover(field.versions):
        return None
    if field.is_array:
        return ()
    if field.is_struct:
        return None
    return {"str": "", "bytes": b"", "rec": b"", "uuid": bytes(16), "bool": False, "f64": 0.0}.get(
        field.type, 0
    )


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _own_versions(line: str, parent: Versions) -> Versions:
    for token in line.split()[2:]:
        if _VERSIONS.fullmatch(token):
            return _versions(token, parent)
    return parent


def _versions(token: str, parent: Versions) -> Versions:
    match = _VERSIONS.fullmatch(token)
    if match is None:
        broken("the schema names versions that do not parse", versions=token)
    first, open_ended, last = match.groups()
    if open_ended:
        return Versions(int(first), parent.last)
    return Versions(int(first), int(last or first))
