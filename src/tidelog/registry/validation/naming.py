"""Where a record names its schema, as Confluent's serializers write it.

in front of key or value:          0, id i32           or  1, GUID (16 bytes)
in a header, __key_schema_id
or __value_schema_id:              1, GUID (16 bytes)  or  0, id i32
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, TypeAlias
from uuid import UUID

from tidelog.wire.fronts import Fronts

ID_MARK, ID_BYTES = b"\x00", 5
GUID_MARK, GUID_BYTES = b"\x01", 17

SchemaName: TypeAlias = int | bytes
"""An id, or the 16 bytes of a GUID."""


class NoName(Enum):
    NO_NAME = "no name"


NO_NAME: Final = NoName.NO_NAME


class Side(Enum):
    KEY = "key"
    VALUE = "value"

    @property
    def header(self) -> str:
        return f"__{self.value}_schema_id"


def names_in(fronts: Fronts, side: Side) -> list[SchemaName | NoName | None]:
    """Returns the schema that each record names; None where the side is null."""
    known: dict[bytes | None, SchemaName | NoName | None] = {None: None}
    found: list[SchemaName | NoName | None] = []
    for data in fronts.values if side is Side.VALUE else fronts.keys:
        front = data if data is None or data[:1] == GUID_MARK else data[:ID_BYTES]  # few differ in a batch
        if front not in known:
            known[front] = _named(front or b"")
        found.append(known[front])
    for number, headers in fronts.headers.items():
        last = _last(headers, side.header)
        if last is not None and found[number] is not None:
            found[number] = _named(last)
    return found


def shown(name: SchemaName) -> str:
    return f"schema id {name}" if isinstance(name, int) else f"schema GUID {UUID(bytes=name)}"


def _named(data: bytes) -> SchemaName | NoName:
    if data[:1] == ID_MARK and len(data) >= ID_BYTES:
        return int.from_bytes(data[1:ID_BYTES], "big")
    if data[:1] == GUID_MARK and len(data) >= GUID_BYTES:
        return data[1:GUID_BYTES]
    return NO_NAME


def _last(headers: Sequence[tuple[str, bytes | None]], name: str) -> bytes | None:
    for key, value in reversed(headers):
        if key == name:
            return value or b""
    return None
