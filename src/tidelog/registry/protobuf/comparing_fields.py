"""What changed in a field. It may change among types that the wire format writes alike."""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.registry.protobuf.differences import Change, Difference
from tidelog.registry.protobuf.elements import SCALARS, Enum, Field, Message, map_types
from tidelog.registry.protobuf.names import Declared, Names
from tidelog.registry.protobuf.scopes import Scope

_WRITTEN_ALIKE = {
    **dict.fromkeys(("int32", "int64", "uint32", "uint64", "bool"), "number"),
    **dict.fromkeys(("sint32", "sint64"), "signed number"),
    **dict.fromkeys(("string", "bytes"), "text"),
    **dict.fromkeys(("fixed32", "sfixed32"), "fixed32"),
    **dict.fromkeys(("fixed64", "sfixed64"), "fixed64"),
    "float": "float",
    "double": "double",
}


class Member(NamedTuple):
    """A field of a message; of a oneof where that has a name; a group where it has a message of its own."""

    field: Field
    oneof: str | None = None
    group: Message | None = None


class Named(NamedTuple):
    """A field whose type is a message of another file: whether it changed, its comparison shows."""

    steps: tuple[str, ...]
    pair: tuple[str, str]
    local_name: tuple[str, ...]


class Place(NamedTuple):
    """Where a comparison stands: how names are resolved on either side, and Confluent's path."""

    writer_names: Names
    reader_names: Names
    writer_scope: Scope
    reader_scope: Scope
    steps: tuple[str, ...]

    @property
    def names(self) -> tuple[Names, Names]:
        return self.writer_names, self.reader_names

    def inside(self, name: str) -> "Place":
        """Returns the place in a type: names inside it are resolved there first."""
        return self._replace(
            writer_scope=self.writer_scope.inside(name),
            reader_scope=self.reader_scope.inside(name),
            steps=(*self.steps, name),
        )

    def at(self, *parts: str) -> "Place":
        return self._replace(steps=self.steps + parts)

    def difference(self, change: Change) -> Difference:
        return Difference(change, self.steps)


class _Type(NamedTuple):
    """A type as one side has it: what it is resolved to, and what that is."""

    name: str
    kind: str
    full_name: str = ""
    declared: Declared | None = None


def field_changes(writer: Member, reader: Member, place: Place) -> Iterator[Difference | Named]:
    if writer.field.name != reader.field.name:
        yield place.difference(Change.FIELD_NAME_CHANGED)
    if (writer.group is None) != (reader.group is None):
        yield place.difference(Change.FIELD_KIND_CHANGED)
    elif writer.group is not None and reader.group is not None:
        if writer.group.name != reader.group.name:
            yield place.difference(Change.FIELD_NAMED_TYPE_CHANGED)
    else:
        labels = (writer.field.label, reader.field.label)
        yield from _type_changes(writer.field.type, reader.field.type, labels, place)


def _type_changes(
    writer: str, reader: str, labels: tuple[str | None, str | None], place: Place
) -> Iterator[Difference | Named]:
    old = _resolved(writer, place.writer_names, place.writer_scope)
    new = _resolved(reader, place.reader_names, place.reader_scope)
    if old.kind != new.kind:
        yield place.difference(Change.FIELD_KIND_CHANGED)
    elif old.kind == "scalar":
        yield from _scalar_changes(old, new, labels, place)
    elif old.kind == "message":
        yield from _message_changes(old, new, place)
    else:
        for inner_writer, inner_reader in zip(
            map_types(old.name) or (), map_types(new.name) or (), strict=True
        ):
            yield from _type_changes(inner_writer, inner_reader, (None, None), place)


def _resolved(name: str, names: Names, scope: Scope) -> _Type:
    if name in SCALARS:
        return _Type(name, "scalar")
    if map_types(name):
        return _Type(name, "map")
    full = names.resolve(name, scope) or name
    declared = names.type(full)
    if declared is not None and isinstance(declared.element, Enum):
        return _Type("int32", "scalar")  # as an enum is written
    if declared is not None and isinstance(declared.element, Message) and declared.is_map_entry:
        return _Type(declared.element.map_type(), "map")
    return _Type(name, "message", full, declared)


def _scalar_changes(
    writer: _Type, reader: _Type, labels: tuple[str | None, str | None], place: Place
) -> Iterator[Difference]:
    alike = _WRITTEN_ALIKE[writer.name]
    if alike != _WRITTEN_ALIKE[reader.name]:
        yield place.difference(Change.FIELD_SCALAR_KIND_CHANGED)
    elif None not in labels and labels[0] != labels[1]:
        text = alike == "text"
        yield place.difference(
            Change.FIELD_STRING_OR_BYTES_LABEL_CHANGED if text else Change.FIELD_NUMERIC_LABEL_CHANGED
        )


def _message_changes(writer: _Type, reader: _Type, place: Place) -> Iterator[Difference | Named]:
    old, new = writer.declared, reader.declared
    if old is None or new is None:  # of a stored schema: a new one has no such names
        if writer.name != reader.name:
            yield place.difference(Change.FIELD_NAMED_TYPE_CHANGED)
        return
    local_name = _local_name(writer.full_name, old)
    if local_name != _local_name(reader.full_name, new):
        yield place.difference(Change.FIELD_NAMED_TYPE_CHANGED)
    elif old.element is not new.element and (
        old.path or new.path
    ):  # else it is compared where it is declared
        yield Named(place.steps, (writer.full_name, reader.full_name), local_name)


def _local_name(full_name: str, declared: Declared) -> tuple[str, ...]:
    return tuple(full_name.removeprefix(f"{declared.package}.").split("."))
