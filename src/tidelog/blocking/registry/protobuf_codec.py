"""Protobuf values as dynamic messages, by descriptors that our own parser makes of a schema's text.

A value is a dict in Protobuf's JSON form with the fields' own names, or a message. Every schema has a pool
of descriptors of its own, since two versions of a schema give one name to different messages.
"""

from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, EncodeError, Message

from tidelog.blocking.registry.errors import UndecodableRecord, UnencodableValue
from tidelog.blocking.registry.framing import Framed, indexes_bytes, message_of
from tidelog.registry.protobuf.parsing import parse
from tidelog.registry.schema import Dependencies


class ProtobufCodec:
    def __init__(self, text: str, dependencies: Dependencies = (), message: str | None = None) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        self._file = file_in(self._pool, text, dependencies)
        self._wanted = message

    def message_class(self, path: tuple[int, ...]) -> type[Message]:
        """Of the message that a path of indexes leads to."""
        kinds, names = self._file.message_type, []
        for index in path:
            if not 0 <= index < len(kinds):
                raise UndecodableRecord(f"its schema has no message at {list(path)}")
            names.append(kinds[index].name)
            kinds = kinds[index].nested_type
        package = [self._file.package] if self._file.package else []
        descriptor = self._pool.FindMessageTypeByName(".".join([*package, *names]))
        return message_factory.GetMessageClass(descriptor)  # type: ignore[no-any-return]

    def decode_message(self, found: Framed) -> Message:
        path, data = message_of(found)
        try:
            return self.message_class(path).FromString(data)
        except DecodeError as error:
            raise UndecodableRecord(f"not Protobuf of its schema: {error}") from error

    def decode(self, found: Framed) -> Any:
        message = self.decode_message(found)
        try:
            return json_format.MessageToDict(
                message,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
                descriptor_pool=self._pool,
            )
        except (json_format.Error, TypeError, ValueError) as error:
            raise UndecodableRecord(f"its message cannot be shown as JSON: {error}") from error

    def encode(self, value: Any) -> bytes:
        path = self._path()
        try:
            message = value
            if not isinstance(value, Message):
                message = json_format.ParseDict(value, self.message_class(path)(), descriptor_pool=self._pool)
            return indexes_bytes(path) + bytes(message.SerializeToString(deterministic=True))
        except (json_format.Error, EncodeError, TypeError, ValueError, AttributeError) as error:
            raise UnencodableValue(f"the value does not fit the Protobuf message: {error}") from error

    def _path(self) -> tuple[int, ...]:
        if self._wanted is None:
            return (0,)
        try:
            descriptor = self._pool.FindMessageTypeByName(self._wanted)
        except KeyError:
            known = [kind.name for kind in self._file.message_type]
            raise UnencodableValue(
                f"the schema has no message {self._wanted}; it has {', '.join(known) or 'none'}"
            ) from None
        return path_of(descriptor)


def path_of(descriptor: Descriptor) -> tuple[int, ...]:
    """The indexes that lead to a message in its file."""
    path: list[int] = []
    while (outer := descriptor.containing_type) is not None:
        path.append([kind.name for kind in outer.nested_types].index(descriptor.name))
        descriptor = outer
    names = list(descriptor.file.message_types_by_name)
    return (names.index(descriptor.name), *reversed(path))


def file_in(pool: Any, text: str, dependencies: Dependencies) -> Any:
    """The schema's file, added to the pool with all that it imports. Raises SchemaError."""
    files = parse(text, dependencies).descriptors()
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
    return files[-1]
