"""Protobuf values as Arrow, by a descriptor set (`protoc --include_imports --descriptor_set_out=FILE`).

The types are those of Spark's own from_protobuf: enums are their names, timestamps are timestamps, wrappers
are nullable scalars, and an unset message or `optional` field is null.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message

from tidelog.blocking.registry.protobuf_codec import file_in, path_of
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependencies
from tidelog.spark.values.errors import BadSchema, BadValue
from tidelog.spark.values.protobuf_filling import TIMESTAMP, WRAPPERS, fill

SCALARS: dict[int, pa.DataType] = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    # Spark has no unsigned types: the next wider one, and for 64 bits the digits that need no sign.
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.decimal128(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
    FieldDescriptor.CPPTYPE_STRING: pa.string(),
}

Convert = Callable[[Any], Any]


class ProtobufValues:
    def __init__(self, descriptor: Descriptor) -> None:
        self.name = descriptor.full_name
        self._descriptor = descriptor
        self._class = message_factory.GetMessageClass(descriptor)
        self.type, self._convert = _message(descriptor, ())

    def decode(self, value: bytes) -> dict[str, Any]:
        try:
            parsed = self._class.FromString(value)
        except DecodeError as error:
            raise BadValue(f"not Protobuf of the message: {error}") from error
        return self._convert(parsed)  # type: ignore[no-any-return]

    @property
    def required(self) -> list[str]:
        return [field.name for field in self._descriptor.fields if field.is_required]

    @property
    def path(self) -> list[int]:
        return list(path_of(self._descriptor))

    def encode(self, row: Mapping[str, Any]) -> bytes:
        message = self._class()
        try:
            fill(message, row)
            return bytes(message.SerializeToString(deterministic=True))
        except (EncodeError, ValueError, TypeError) as error:
            raise BadValue(f"the row does not fit the Protobuf message: {error}") from error


def of_descriptor_set(descriptors: bytes, message: str) -> ProtobufValues:
    """BadSchema says what is wrong with the file."""
    pool = descriptor_pool.DescriptorPool()
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
        for file in files.file:
            pool.Add(file)
    except DecodeError as error:
        raise BadSchema("the file holds no descriptor set; protoc --descriptor_set_out makes one") from error
    except TypeError as error:
        raise BadSchema(f"the descriptor set misses what it imports: {error}") from error
    return ProtobufValues(_found(pool, message, files.file))


def of_text(text: str, dependencies: Dependencies, message: str) -> ProtobufValues:
    """A schema as a registry keeps it; without a name it is the first message of the file."""
    pool = descriptor_pool.DescriptorPool()
    try:
        file = file_in(pool, text, dependencies)
    except SchemaError as error:
        raise BadSchema(f"the Protobuf schema is not valid: {error}") from error
    if not message and not file.message_type:
        raise BadSchema("the Protobuf schema has no message")
    package = f"{file.package}." if file.package else ""
    return ProtobufValues(_found(pool, message or package + file.message_type[0].name, [file]))


def _found(pool: Any, message: str, files: Iterable[Any]) -> Descriptor:
    try:
        return pool.FindMessageTypeByName(message)
    except KeyError as error:
        known = sorted(f"{file.package}.{kind.name}" for file in files for kind in file.message_type)
        raise BadSchema(f"no message {message}; there are {', '.join(known) or 'none'}") from error


def _message(descriptor: Descriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Convert]:
    if descriptor.full_name == TIMESTAMP:
        return pa.timestamp("us", tz="UTC"), lambda moment: moment.ToNanoseconds() // 1000
    if descriptor.full_name in WRAPPERS:
        kind, convert = _single(descriptor.fields_by_name["value"], inside)
        return kind, lambda wrapper: convert(wrapper.value)
    if descriptor.full_name in inside:
        raise BadSchema(f"{descriptor.full_name} holds messages of its own kind without end")
    inside = (*inside, descriptor.full_name)
    types, readers = [], []
    for field in descriptor.fields:
        kind, read = _field(field, inside)
        types.append(pa.field(field.name, kind))
        readers.append((field.name, read))
    return pa.struct(types), lambda message: {name: read(message) for name, read in readers}


def _field(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Convert]:
    name = field.name
    kind_of = field.message_type
    if kind_of is not None and kind_of.GetOptions().map_entry:
        key, key_of = _single(kind_of.fields_by_name["key"], inside)
        value, value_of = _single(kind_of.fields_by_name["value"], inside)

        def pairs(message: Message) -> list[tuple[Any, Any]]:
            return [(key_of(k), value_of(v)) for k, v in getattr(message, name).items()]

        return pa.map_(key, value), pairs
    kind, convert = _single(field, inside)
    if field.is_repeated:
        return pa.list_(kind), lambda message: [convert(item) for item in getattr(message, name)]
    if field.has_presence:
        return kind, lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return kind, lambda message: convert(getattr(message, name))


def _single(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Convert]:
    if field.message_type is not None:
        return _message(field.message_type, inside)
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return pa.string(), lambda number: names.get(number, str(number))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return pa.binary(), _as_it_is
    return SCALARS[field.cpp_type], _as_it_is


def _as_it_is(value: Any) -> Any:
    return value
