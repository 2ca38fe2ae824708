"""The keys of records about groups with epochs.

version i16, which says what the record is about; group string; and where a group has many of them, the name
of one: member string, or regular expression string.
"""

from collections.abc import Collection

from tidelog.groups.record_formats.fields import I16, FieldReader, decoding, string


def encode_key(key: int, group_id: str, name: str | None = None) -> bytes:
    head = I16.pack(key) + string(group_id)
    return head if name is None else head + string(name)


def decode_key(data: bytes, named: Collection[int]) -> tuple[int, str, str]:
    """Kind, group, and the name where it is one of the kinds that are `named`."""

    def read(reader: FieldReader) -> tuple[int, str, str]:
        key, group_id = reader.i16(), reader.string()
        return key, group_id, reader.string() if key in named else ""

    return decoding("the key of a group", data, read)
