"""Protobuf records of any version as rows of the reader schema's message.

Each version's fields are found by their numbers, so the reader's message reads them all; the writer's schema
tells which of its messages a record is, and whether its fields still mean the same.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pool

from tidelog.blocking.registry.errors import UndecodableRecord
from tidelog.blocking.registry.framing import Framed, message_of
from tidelog.blocking.registry.protobuf_codec import file_in
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependencies, SchemaType
from tidelog.spark.values.errors import BadValue
from tidelog.spark.values.protobuf import of_text
from tidelog.spark.values.registered.unreadable import UnreadableSchema, refuse_unreadable

PATHS_MAX = 1000
FIRST = b"\0"
"""The path to the first message, which nearly all records have."""


class ProtobufReader:
    def __init__(self, text: str, dependencies: Dependencies, message: str) -> None:
        self.values = of_text(text, dependencies, message)
        self._own = (text, tuple(dependencies))

    def decoder(self, text: str, dependencies: Dependencies) -> Callable[[bytes], dict[str, Any]]:
        """For values of a writer's schema, with the path to their message first. Raises UnreadableSchema."""
        if (text, tuple(dependencies)) != self._own:
            refuse_unreadable(SchemaType.PROTOBUF, self._own, (text, dependencies))
        name_at = _names(text, dependencies)
        wanted, decode = self.values.name, self.values.decode

        def decode_message(data: bytes) -> dict[str, Any]:
            path, value = ((0,), data[1:]) if data[:1] == FIRST else _path(data)
            found = name_at(path)
            if found != wanted:
                raise BadValue(f"it is a message {found or path}, and not {wanted}")
            return decode(value)

        return decode_message


def _path(data: bytes) -> tuple[tuple[int, ...], bytes]:
    try:
        return message_of(Framed(0, data))
    except UndecodableRecord as error:
        raise BadValue(str(error)) from error


def _names(text: str, dependencies: Dependencies) -> Callable[[tuple[int, ...]], str | None]:
    try:
        file = file_in(descriptor_pool.DescriptorPool(), text, dependencies)
    except SchemaError as error:
        raise UnreadableSchema(str(error)) from error

    @lru_cache(maxsize=PATHS_MAX)
    def name_at(path: tuple[int, ...]) -> str | None:
        kinds, names = file.message_type, [file.package] if file.package else []
        for index in path:
            if not 0 <= index < len(kinds):
                return None
            names.append(kinds[index].name)
            kinds = kinds[index].nested_type
        return ".".join(names)

    return name_at
