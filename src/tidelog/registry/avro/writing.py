"""Writes types as the JSON that Java's `Schema.toString` writes: the canonical text of a schema.

The first use of a name defines it; every other use, and every use of a name known before, is the name alone.
"""

from collections.abc import Iterable
from typing import Any

from tidelog.registry.avro.json_text import dump, string
from tidelog.registry.avro.limits import check_nesting
from tidelog.registry.avro.names import Name
from tidelog.registry.avro.types import (
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    NamedType,
    Primitive,
    Properties,
    Record,
    Type,
    Union,
)


class Writer:
    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = set(known)
        self._levels = 0

    def text(self, type_: Type) -> str:
        parts: list[str] = []
        self._write(type_, None, parts)
        return "".join(parts)

    def definition(self, type_: NamedType) -> str:
        """Returns the text of one definition: the names in it are not defined, and its own neither."""
        parts: list[str] = []
        self._define(type_, None, parts)
        return "".join(parts)

    def _write(self, type_: Type, namespace: str | None, parts: list[str]) -> None:
        self._levels += 1
        check_nesting(self._levels)
        match type_:
            case Primitive() if not type_.properties:
                parts.append(f'"{type_.kind}"')
            case Primitive():
                parts.append(f'{{"type":"{type_.kind}"')
                self._close(type_, parts)
            case Array():
                parts.append('{"type":"array","items":')
                self._write(type_.items, namespace, parts)
                self._close(type_, parts)
            case Map():
                parts.append('{"type":"map","values":')
                self._write(type_.values, namespace, parts)
                self._close(type_, parts)
            case Union():
                self._union(type_, namespace, parts)
            case _ if (full := type_.name.full) in self._known:
                parts.append(string(type_.name.within(namespace)))
            case _:
                self._known.add(full)
                self._define(type_, namespace, parts)
        self._levels -= 1

    def _union(self, union: Union, namespace: str | None, parts: list[str]) -> None:
        parts.append("[")
        for index, branch in enumerate(union.branches):
            if index:
                parts.append(",")
            self._write(branch, namespace, parts)
        parts.append("]")

    def _define(self, type_: NamedType, namespace: str | None, parts: list[str]) -> None:
        kind = "error" if isinstance(type_, Record) and type_.is_error and self.keeps_errors else type_.kind
        parts.append(f'{{"type":"{kind}","name":{string(type_.name.simple)}')
        if type_.name.namespace != namespace:
            parts.append(f',"namespace":{string(type_.name.namespace or "")}')
        if (doc := self.doc(type_)) is not None:
            parts.append(f',"doc":{string(doc)}')
        match type_:
            case Record():
                self._fields(type_, parts)
            case Enum():
                parts.append(f',"symbols":{dump(type_.symbols)}')
                if type_.default is not None:
                    parts.append(f',"default":{string(type_.default)}')
            case Fixed():
                parts.append(f',"size":{type_.size}')
        aliases = [alias.within(type_.name.namespace) for alias in self.aliases(type_)]
        self._close(type_, parts, f',"aliases":{dump(aliases)}' if aliases else "")

    def _fields(self, record: Record, parts: list[str]) -> None:
        parts.append(',"fields":[')
        for index, field in enumerate(record.fields):
            parts.append(f'{"," if index else ""}{{"name":{string(field.name)},"type":')
            self._write(field.type, record.name.namespace, parts)
            if field.doc is not None:
                parts.append(f',"doc":{string(field.doc)}')
            if field.has_default:
                parts.append(f',"default":{dump(self.default(field))}')
            if field.order != "ascending":
                parts.append(f',"order":"{field.order}"')
            if field.aliases:
                parts.append(f',"aliases":{dump(self.field_aliases(field))}')
            self._close(field, parts)
        parts.append("]")

    def _close(
        self, owner: Primitive | Array | Map | NamedType | Field, parts: list[str], last: str = ""
    ) -> None:
        parts.extend(f",{string(name)}:{dump(value)}" for name, value in self.properties(owner).items())
        parts.append(last + "}")

    # What a normalized text changes.

    keeps_errors = True

    def doc(self, type_: NamedType) -> str | None:
        return type_.doc

    def default(self, field: Field) -> Any:
        return field.default

    def aliases(self, type_: NamedType) -> Iterable[Name]:
        return type_.aliases

    def field_aliases(self, field: Field) -> Iterable[str]:
        return field.aliases

    def properties(self, owner: Primitive | Array | Map | NamedType | Field) -> Properties:
        return owner.properties
