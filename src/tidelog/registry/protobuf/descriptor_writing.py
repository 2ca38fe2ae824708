"""Elements become the descriptor of a file, as protoc would make it, with all names in full.

Messages that stand for maps come after the messages that the text declares: a record names its message by
its place among those.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf import descriptor_pb2

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.descriptor_options import write_plain
from tidelog.registry.protobuf.elements import (
    SCALARS,
    Enum,
    Extend,
    Field,
    File,
    Group,
    Kind,
    Message,
    OneOf,
    Option,
    Range,
    Rpc,
    Service,
    map_types,
)
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.normalizing import unknown_type
from tidelog.registry.protobuf.reading import whole_number
from tidelog.registry.protobuf.scopes import Scope, scope_of

_FIELD = descriptor_pb2.FieldDescriptorProto
_LABELS = {
    "optional": _FIELD.LABEL_OPTIONAL,
    "required": _FIELD.LABEL_REQUIRED,
    "repeated": _FIELD.LABEL_REPEATED,
}


class Written:
    """A descriptor, the files whose types it uses, and custom options, to be set when all files are known."""

    def __init__(self, path: str) -> None:
        self.descriptor = descriptor_pb2.FileDescriptorProto(name=path)
        self.custom: list[tuple[Sequence[Option], Any, Scope]] = []
        self.used: set[str] = set()


def write_descriptor(path: str, file: File, names: Names, imports: Sequence[str]) -> Written:
    """Raises SchemaError where a name means nothing or a value does not fit. `imports` are those known."""
    written = Written(path)
    _DescriptorWriter(file, names, written).write(imports)
    return written


class _DescriptorWriter:
    def __init__(self, file: File, names: Names, written: Written) -> None:
        self._file = file
        self._names = names
        self._written = written
        self._proto3 = file.syntax == "proto3"

    def write(self, imports: Sequence[str]) -> None:
        file, target = self._file, self._written.descriptor
        scope = scope_of(file)
        if file.package:
            target.package = file.package
        if file.is_edition:
            target.syntax = "editions"
            try:
                target.edition = descriptor_pb2.Edition.Value(f"EDITION_{file.syntax}")
            except ValueError:
                raise SchemaError(f"The edition {file.syntax} is not known here.") from None
        elif self._proto3:
            target.syntax = "proto3"
        for element in file.types:
            if isinstance(element, Message):
                self._message(element, target.message_type.add(), scope)
            else:
                self._enum(element, target.enum_type.add(), scope)
        for extend in file.extends:
            self._extend(extend, target.extension, target.message_type, scope)
        for service in file.services:
            self._service(service, target.service.add(), scope)
        self._options(file.options, target, scope)
        self._imports(imports)

    def _imports(self, imports: Sequence[str]) -> None:
        target = self._written.descriptor
        target.dependency.extend(dict.fromkeys(imports))
        places = {path: place for place, path in enumerate(target.dependency)}
        target.public_dependency.extend(places[path] for path in self._file.public_imports if path in places)
        target.weak_dependency.extend(places[path] for path in self._file.weak_imports if path in places)

    def _options(self, options: Sequence[Option], target: Any, scope: Scope) -> None:
        if not options:
            return
        write_plain(options, target.options)
        if any(option.parenthesized for option in options):
            self._written.custom.append((options, target, scope))

    def _message(self, message: Message, target: Any, around: Scope) -> None:
        scope = around.inside(message.name)
        target.name = message.name
        for element in message.types:
            if isinstance(element, Message):
                self._message(element, target.nested_type.add(), scope)
            else:
                self._enum(element, target.enum_type.add(), scope)
        for oneof in message.oneofs:
            self._oneof(oneof, target, scope)
        optional: list[Any] = []
        for field in message.fields:
            added = target.field.add()
            self._field(field, added, scope)
            if pair := map_types(field.type):
                self._map_entry(field, pair, target, added, scope)
            elif self._proto3 and field.label == "optional":
                optional.append(added)
        for group in message.groups:
            self._group(group, target.field.add(), target.nested_type.add(), scope)
        self._synthetic_oneofs(optional, target)
        for first, last in _numbers(value for statement in message.reserved for value in statement):
            target.reserved_range.add(start=first, end=last + 1)
        target.reserved_name.extend(
            value for values in message.reserved for value in values if isinstance(value, str)
        )
        for extensions in message.extensions:
            for first, last in _numbers(extensions.values):
                self._options(
                    extensions.options, target.extension_range.add(start=first, end=last + 1), scope
                )
        for extend in message.extends:
            self._extend(extend, target.extension, target.nested_type, scope)
        _set_visibility(message.visibility, target)
        self._options(message.options, target, scope)

    def _synthetic_oneofs(self, optional: Sequence[Any], target: Any) -> None:
        """Gives each optional field of proto3 a oneof, after those that the text declares."""
        taken = {oneof.name for oneof in target.oneof_decl} | {field.name for field in target.field}
        for field in optional:
            name = f"_{field.name}"
            while name in taken:
                name = f"X{name}"
            taken.add(name)
            field.proto3_optional = True
            field.oneof_index = len(target.oneof_decl)
            target.oneof_decl.add().name = name

    def _oneof(self, oneof: OneOf, target: Any, scope: Scope) -> None:
        index = len(target.oneof_decl)
        declared = target.oneof_decl.add()
        declared.name = oneof.name
        self._options(oneof.options, declared, scope)
        for field in oneof.fields:
            added = target.field.add()
            self._field(field, added, scope)
            added.oneof_index = index
        for group in oneof.groups:
            added = target.field.add()
            self._group(group, added, target.nested_type.add(), scope)
            added.oneof_index = index

    def _field(self, field: Field, target: Any, scope: Scope) -> None:
        target.name = field.name
        target.number = field.number
        target.label = _LABELS[field.label or "optional"]
        if map_types(field.type) is None:
            self._type(field.type, target, scope)
        for option in field.options:
            if option.name == "default" and not option.parenthesized:
                self._default(option, target)
            elif option.name == "json_name" and not option.parenthesized:
                target.json_name = str(option.value.content)
        self._options(field.options, target, scope)

    def _type(self, name: str, target: Any, scope: Scope) -> None:
        if name in SCALARS:
            target.type = _FIELD.Type.Value(f"TYPE_{name.upper()}")
            return
        target.type_name = self._resolved(name, scope)
        declared = self._names.type(target.type_name[1:])
        is_enum = declared is not None and isinstance(declared.element, Enum)
        target.type = _FIELD.TYPE_ENUM if is_enum else _FIELD.TYPE_MESSAGE

    def _resolved(self, name: str, scope: Scope) -> str:
        full = self._names.resolve(name, scope)
        if full is None:
            raise SchemaError(unknown_type(name, scope))
        if declared := self._names.type(full):
            self._written.used.add(declared.path)
        return f".{full}"

    def _default(self, option: Option, target: Any) -> None:
        value = option.value
        if self._proto3:
            raise SchemaError(f"The field '{target.name}' has a default value, which proto3 does not have.")
        if not isinstance(value.content, str):
            raise SchemaError(f"The default value of the field '{target.name}' is no scalar.")
        if target.type == _FIELD.TYPE_BYTES:
            target.default_value = _c_escaped(value.content)
        elif value.kind is Kind.STRING and not value.content.isascii():
            target.default_value = value.content.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        elif value.kind is Kind.NUMBER and (whole := whole_number(value.content.lstrip("-"))) is not None:
            target.default_value = f"{'-' if value.content.startswith('-') else ''}{whole}"
        else:
            target.default_value = value.content

    def _map_entry(self, field: Field, pair: tuple[str, str], target: Any, added: Any, scope: Scope) -> None:
        entry = target.nested_type.add(name=_entry_name(field.name))
        entry.options.map_entry = True
        for number, (name, kind) in enumerate(zip(("key", "value"), pair, strict=True), start=1):
            self._field(Field("optional", kind, name, number), entry.field.add(), scope)
        added.label = _FIELD.LABEL_REPEATED
        added.type = _FIELD.TYPE_MESSAGE
        added.type_name = f".{scope.prefix}{entry.name}"

    def _group(self, group: Group, target: Any, nested: Any, scope: Scope) -> None:
        self._message(group.message, nested, scope)
        target.name = group.message.name.lower()
        target.number = group.number
        target.label = _LABELS[group.label or "optional"]
        target.type = _FIELD.TYPE_GROUP
        target.type_name = f".{scope.prefix}{group.message.name}"
        self._options(group.options, target, scope)

    def _extend(self, extend: Extend, extensions: Any, nested: Any, scope: Scope) -> None:
        extendee = self._resolved(extend.name, scope)
        for field in extend.fields:
            added = extensions.add(extendee=extendee)
            self._field(field, added, scope)
            if self._proto3 and field.label == "optional":
                added.proto3_optional = True
        for group in extend.groups:
            self._group(group, extensions.add(extendee=extendee), nested.add(), scope)

    def _enum(self, enum: Enum, target: Any, around: Scope) -> None:
        scope = around.inside(enum.name)
        target.name = enum.name
        for constant in enum.constants:
            self._options(
                constant.options, target.value.add(name=constant.name, number=constant.number), scope
            )
        for first, last in _numbers(value for statement in enum.reserved for value in statement):
            target.reserved_range.add(start=first, end=last)
        target.reserved_name.extend(
            value for values in enum.reserved for value in values if isinstance(value, str)
        )
        _set_visibility(enum.visibility, target)
        self._options(enum.options, target, scope)

    def _service(self, service: Service, target: Any, around: Scope) -> None:
        scope = around.inside(service.name)
        target.name = service.name
        for rpc in service.rpcs:
            self._rpc(rpc, target.method.add(), scope)
        self._options(service.options, target, scope)

    def _rpc(self, rpc: Rpc, target: Any, scope: Scope) -> None:
        target.name = rpc.name
        target.input_type = self._resolved(rpc.request, scope)
        target.output_type = self._resolved(rpc.response, scope)
        if rpc.request_streaming:
            target.client_streaming = True
        if rpc.response_streaming:
            target.server_streaming = True
        self._options(rpc.options, target, scope)


def _numbers(values: Any) -> Iterator[tuple[int, int]]:
    for value in values:
        if isinstance(value, Range):
            yield value.first, value.last
        elif isinstance(value, int):
            yield value, value


def _entry_name(field: str) -> str:
    """Returns protoc's name of the message of a map: `my_map` becomes `MyMapEntry`."""
    return "".join(part[:1].upper() + part[1:] for part in field.split("_")) + "Entry"


def _set_visibility(visibility: str | None, target: Any) -> None:
    if visibility and hasattr(target, "visibility"):  # since edition 2024
        target.visibility = {"local": 1, "export": 2}[visibility]


def _c_escaped(text: str) -> str:
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b"\\'\"" else f"\\{byte:03o}" for byte in raw
    )
