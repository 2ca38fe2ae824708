"""Reads and writes the compact encoding, in which all values of the new kind of group are stored."""

from collections.abc import Callable, Collection, Iterable
from struct import Struct
from typing import TypeVar

from tidelog.groups.record_formats.fields import FieldReader, decoding
from tidelog.wire.primitives import read_uvarint, uvarint

NO_TAGS = b"\x00"
_I8 = Struct(">b")

DecodedT = TypeVar("DecodedT")


class CompactReader(FieldReader):
    """A reader for flexible versions, after the i16 in front."""

    __slots__ = ()

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.compact = True

    def i8(self) -> int:
        return self._number(_I8)

    def uuid(self) -> bytes:
        return self._take(16)

    def strings(self) -> tuple[str, ...]:
        return tuple(self.string() for _ in range(self.count()))

    def numbers(self) -> list[int]:
        return [self.i32() for _ in range(self.count())]

    def tagged(self, known: dict[int, Callable[["CompactReader"], None]]) -> None:
        """The tagged fields at the end of a struct; fields that the caller does not ask for are skipped."""
        count, self.position = read_uvarint(self.data, self.position)
        for _ in range(count):
            tag, self.position = read_uvarint(self.data, self.position)
            size, self.position = read_uvarint(self.data, self.position)
            value = self._take(size)
            if tag in known:
                known[tag](CompactReader(value))


def string(value: str) -> bytes:
    encoded = value.encode()
    return uvarint(len(encoded) + 1) + encoded


def nullable_string(value: str | None) -> bytes:
    return b"\x00" if value is None else string(value)


def sized_bytes(value: bytes) -> bytes:
    return uvarint(len(value) + 1) + value


def strings(values: Collection[str]) -> bytes:
    return array(map(string, values), len(values))


def array(items: Iterable[bytes], count: int) -> bytes:
    return uvarint(count + 1) + b"".join(items)


def tagged(fields: dict[int, bytes]) -> bytes:
    """Tagged fields, to be given in the order of their tags."""
    parts = [uvarint(len(fields))]
    for tag, value in fields.items():
        parts += (uvarint(tag), uvarint(len(value)), value)
    return b"".join(parts)


def decode_version_0(what: str, data: bytes, read: Callable[[CompactReader], DecodedT]) -> DecodedT:
    """A value with the i16 in front, which has to be 0."""

    def checked(head: FieldReader) -> DecodedT:
        version = head.i16()
        if version != 0:
            raise ValueError(f"version {version} is not known")
        reader = CompactReader(data)
        reader.position = head.position
        return read(reader)

    return decoding(what, data, checked)
