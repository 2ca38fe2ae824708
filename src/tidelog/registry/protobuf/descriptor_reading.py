"""The descriptor of a file becomes its elements: serialized, it is what many clients send as a schema."""

from collections.abc import Sequence
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.descriptor_options import OptionsReader
from tidelog.registry.protobuf.elements import (
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Kind,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Service,
    Value,
)
from tidelog.registry.protobuf.tokens import unquoted

_FIELD = descriptor_pb2.FieldDescriptorProto
_LABELS = {1: "optional", 2: "required", 3: "repeated"}
_NUMERIC_WORDS = ("inf", "-inf", "nan")


def read_descriptor(serialized: bytes, options: OptionsReader | None = None) -> File:
    """Raises SchemaError where the bytes are no FileDescriptorProto. `options` knows custom options."""
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
    except DecodeError:
        raise SchemaError("The text is base64, but not of a serialized FileDescriptorProto.") from None
    if not _is_text(file):
        raise SchemaError("The descriptor has a string that is no UTF-8.")
    return _DescriptorReader(file, options or OptionsReader()).file()


def _is_text(message: Any) -> bool:
    """The library gives bytes for a string that is no UTF-8."""
    for field, value in message.ListFields():
        values = value if field.is_repeated else (value,)
        if field.message_type is not None:
            if not all(map(_is_text, values)):
                return False
        elif field.type == FieldDescriptor.TYPE_STRING and any(isinstance(item, bytes) for item in values):
            return False
    return True


class _DescriptorReader:
    def __init__(self, file: Any, options: OptionsReader) -> None:
        self._file = file
        self._options = options
        self._proto3 = file.syntax == "proto3"

    def file(self) -> File:
        file = self._file
        public, weak = set(file.public_dependency), set(file.weak_dependency)
        paths = list(enumerate(file.dependency))
        return File(
            self._syntax(),
            file.package or None,
            tuple(path for index, path in paths if index not in public and index not in weak),
            tuple(path for index, path in paths if index in public),
            tuple(path for index, path in paths if index in weak),
            self._options.options(file.options),
            (*map(self._message, file.message_type), *map(self._enum, file.enum_type)),
            self._extends(file.extension, file.message_type),
            tuple(map(self._service, file.service)),
        )

    def _syntax(self) -> str | None:
        if self._file.syntax == "editions":
            return str(descriptor_pb2.Edition.Name(self._file.edition)).removeprefix("EDITION_")
        return self._file.syntax or None

    def _message(self, message: Any) -> Message:
        fields: list[Field] = []
        groups: list[Group] = []
        grouped: set[str] = set()
        oneofs: list[tuple[list[Field], list[Group]]] = [([], []) for _ in message.oneof_decl]
        for field in message.field:
            real = field.HasField("oneof_index") and not field.proto3_optional
            if real and not 0 <= field.oneof_index < len(oneofs):
                raise SchemaError(f"The field '{field.name}' names a oneof that its message does not have.")
            to_fields, to_groups = oneofs[field.oneof_index] if real else (fields, groups)
            if group := self._group(field, message.nested_type, in_oneof=real):
                to_groups.append(group)
                grouped.add(group.message.name)
            else:
                to_fields.append(self._field(field, in_oneof=real))
        nested = [self._message(inner) for inner in message.nested_type if inner.name not in grouped]
        reserved: list[Reserved] = [(_range(part.start, part.end - 1),) for part in message.reserved_range]
        return Message(
            message.name,
            tuple(fields),
            tuple(
                OneOf(decl.name, tuple(members), tuple(inner), self._options.options(decl.options))
                for decl, (members, inner) in zip(message.oneof_decl, oneofs, strict=True)
                if members or inner
            ),
            tuple(groups),
            (*nested, *map(self._enum, message.enum_type)),
            self._options.options(message.options),
            (*reserved, *((name,) for name in message.reserved_name)),
            tuple(
                Extensions((_range(part.start, part.end - 1),), self._options.options(part.options))
                for part in message.extension_range
            ),
            self._extends(message.extension, message.nested_type),
            _visibility(message),
        )

    def _group(self, field: Any, nested: Sequence[Any], in_oneof: bool) -> Group | None:
        if field.type != _FIELD.TYPE_GROUP or self._file.syntax == "editions":
            return None
        name = field.type_name.rpartition(".")[2]
        body = next((inner for inner in nested if inner.name == name), None)
        if body is None:
            return None
        label = None if in_oneof else self._label(field)
        return Group(label, field.number, self._message(body), self._field_options(field))

    def _field(self, field: Any, in_oneof: bool) -> Field:
        label = None if in_oneof else self._label(field)
        return Field(label, _type_name(field), field.name, field.number, self._field_options(field))

    def _label(self, field: Any) -> str | None:
        if field.proto3_optional:
            return "optional"
        implied = self._proto3 or self._file.syntax == "editions"
        return None if implied and field.label != _FIELD.LABEL_REPEATED else _LABELS[field.label]

    def _field_options(self, field: Any) -> tuple[Option, ...]:
        options = list(self._options.options(field.options))
        if field.HasField("default_value") and not self._proto3:
            options.append(Option("default", _default(field)))
        if field.HasField("json_name"):
            options.append(Option("json_name", Value(Kind.STRING, field.json_name)))
        return tuple(options)

    def _extends(self, extensions: Sequence[Any], nested: Sequence[Any]) -> tuple[Extend, ...]:
        by_name: dict[str, tuple[list[Field], list[Group]]] = {}
        for field in extensions:
            fields, groups = by_name.setdefault(field.extendee, ([], []))
            if group := self._group(field, nested, in_oneof=False):
                groups.append(group)
            else:
                fields.append(self._field(field, in_oneof=False))
        return tuple(Extend(name, tuple(fields), tuple(groups)) for name, (fields, groups) in by_name.items())

    def _enum(self, enum: Any) -> Enum:
        reserved: list[Reserved] = [(_range(part.start, part.end),) for part in enum.reserved_range]
        return Enum(
            enum.name,
            tuple(
                Constant(value.name, value.number, self._options.options(value.options))
                for value in enum.value
            ),
            self._options.options(enum.options),
            (*reserved, *((name,) for name in enum.reserved_name)),
            _visibility(enum),
        )

    def _service(self, service: Any) -> Service:
        rpcs = tuple(
            Rpc(
                method.name,
                method.input_type,
                method.output_type,
                method.client_streaming,
                method.server_streaming,
                self._options.options(method.options),
            )
            for method in service.method
        )
        return Service(service.name, rpcs, self._options.options(service.options))


def _type_name(field: Any) -> str:
    if field.type_name:
        return str(field.type_name)
    if not field.HasField("type"):
        raise SchemaError(f"The field '{field.name}' has no type.")
    return str(_FIELD.Type.Name(field.type)).removeprefix("TYPE_").lower()


def _range(first: int, last: int) -> int | Range:
    return first if first == last else Range(first, last)


def _visibility(element: Any) -> str | None:
    value = getattr(element, "visibility", 0)  # since edition 2024
    return {1: "local", 2: "export"}.get(value)


def _default(field: Any) -> Value:
    text = field.default_value
    if field.type == _FIELD.TYPE_STRING:
        return Value(Kind.STRING, text)
    if field.type == _FIELD.TYPE_BYTES:  # escaped, as in C
        return Value(Kind.STRING, unquoted(f'"{text}"'))
    if field.type == _FIELD.TYPE_BOOL:
        return Value(Kind.BOOLEAN, text)
    return Value(Kind.ENUM if field.type_name or text in _NUMERIC_WORDS else Kind.NUMBER, text)
