"""Protobuf values as Arrow, by a descriptor set (`protoc --include_imports --descriptor_set_out=FILE`).

The types are those of Spark's own from_protobuf: enums are their names, timestamps are timestamps, wrappers
are nullable scalars, and an unset message or `optional` field is null.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message

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
    def __init__(self, descriptors: bytes, message: str) -> None:
        pool = descriptor_pool.DescriptorPool()
        try:
            files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
            for file in files.file:
                pool.Add(file)
            descriptor = pool.FindMessageTypeByName(message)
        except DecodeError as error:
            raise BadSchema(
                "the file holds no descriptor set; protoc --descriptor_set_out makes one"
            ) from error
        except TypeError as error:
            raise BadSchema(f"the descriptor set misses what it imports: {error}") from error
        except KeyError as error:
            known = sorted(f"{file.package}.{kind.name}" for file in files.file for kind in file.message_type)
            raise BadSchema(f"no message {message}; there are {', '.join(known) or 'none'}") from error
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
        inner, found = self._descriptor, []
        while (outer := inner.containing_type) is not None:
            found.append([other.name for other in outer.nested_types].index(inner.name))
            inner = outer
        file = descriptor_pb2.FileDescriptorProto()
        inner.file.CopyToProto(file)
        found.append([other.name for other in file.message_type].index(inner.name))
        return found[::-1]

    def encode(self, row: Mapping[str, Any]) -> bytes:
        message = self._class()
        try:
            fill(message, row)
            return bytes(message.SerializeToString(deterministic=True))
        except (EncodeError, ValueError, TypeError) as error:
            raise BadValue(f"the row does not fit the Protobuf message: {error}") from error


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
