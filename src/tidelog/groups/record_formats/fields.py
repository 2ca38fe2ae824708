"""Reads and writes the fields of group records: Kafka's classic encoding and the later, compact one.

Every key and value starts with its version, an i16. What does not fit raises `CorruptGroupRecord`: such bytes
come from our own log, not from a peer.
"""

from collections.abc import Callable
from struct import Struct, error
from typing import TypeVar

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.wire.primitives import read_uvarint, skip_tags

I16 = Struct(">h")
I32 = Struct(">i")
I64 = Struct(">q")

DecodedT = TypeVar("DecodedT")


class CorruptGroupRecord(StorageError):
    """A record of `__consumer_offsets` that is not in any format we know."""


def decoding(what: str, data: bytes, decode: Callable[["FieldReader"], DecodedT]) -> DecodedT:
    """Run a decoder; short or malformed bytes become one error that says which record it was."""
    try:
        return decode(FieldReader(data))
    except (error, IndexError, ValueError, ProtocolError) as cause:
        raise CorruptGroupRecord(f"{what} of {len(data)} bytes cannot be read: {cause}") from cause


class FieldReader:
    """A position in a key or value. `compact` switches to the encoding of flexible versions."""

    __slots__ = ("compact", "data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.compact = False

    def i16(self) -> int:
        return self._number(I16)

    def i32(self) -> int:
        return self._number(I32)

    def i64(self) -> int:
        return self._number(I64)

    def string(self) -> str:
        value = self.nullable_string()
        if value is None:
            raise ValueError("a string is null")
        return value

    def nullable_string(self) -> str | None:
        length = self._compact_length() if self.compact else self.i16()
        return None if length < 0 else self._take(length).decode()

    def blob(self) -> bytes:
        length = self._compact_length() if self.compact else self.i32()
        return self._take(length) if length > 0 else b""

    def count(self) -> int:
        count = self._compact_length() if self.compact else self.i32()
        if count > len(self.data):
            raise ValueError(f"{count} elements in {len(self.data)} bytes")
        return max(count, 0)

    def tags(self) -> None:
        """Pass over the tagged fields at the end of a flexible struct."""
        if self.compact:
            count, position = read_uvarint(self.data, self.position)
            self.position = skip_tags(self.data, position, count)

    def _number(self, form: Struct) -> int:
        value: int = form.unpack_from(self.data, self.position)[0]
        self.position += form.size
        return value

    def _compact_length(self) -> int:
        length, self.position = read_uvarint(self.data, self.position)
        return length - 1

    def _take(self, length: int) -> bytes:
        end = self.position + length
        if end > len(self.data):
            raise ValueError(f"{length} bytes are wanted where {len(self.data) - self.position} are left")
        taken = self.data[self.position : end]
        self.position = end
        return taken


def string(value: str) -> bytes:
    encoded = value.encode()
    return I16.pack(len(encoded)) + encoded


def nullable_string(value: str | None) -> bytes:
    return I16.pack(-1) if value is None else string(value)


def sized_bytes(value: bytes) -> bytes:
    return I32.pack(len(value)) + value
