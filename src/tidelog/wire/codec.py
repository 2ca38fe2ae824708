"""Messages to bytes and back. A function is compiled when a (class, version) is first asked for.

`decode` and `encode` are for everybody; a hot path keeps the bare function of `decoder` or `encoder`.
Malformed bytes raise ProtocolError and nothing else; so does a message that its version cannot express.
"""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer
from tidelog.wire.message import Message, Part
from tidelog.wire.schema import MessageSchema, parse_message

M = TypeVar("M", bound=Message)

_decoders: dict[tuple[type[Message], int], Callable[..., Any]] = {}
_encoders: dict[tuple[type[Message], int], Callable[..., list[Part]]] = {}


def decode(cls: type[M], version: int, data: Buffer, position: int = 0, *, rest: bool = False) -> M:
    """The message that fills `data` from `position` to the end. Records stay views into `data`.

    With `rest`, bytes may follow it: librdkafka leaves three of them behind its Metadata requests, and
    Kafka's own broker never looked at what comes after a request.
    """
    found = _decoders.get((cls, version)) or decoder(cls, version)
    message: M = found(data if type(data) is memoryview else memoryview(data), position, rest)
    return message


def encode(message: Message, version: int) -> list[Part]:
    """The message in few parts: fields in bytearrays, large records and file ranges as they are."""
    cls = type(message)
    return (_encoders.get((cls, version)) or encoder(cls, version))(message, bytearray())


def decoder(cls: type[M], version: int) -> Callable[..., M]:
    """`decode(data: memoryview, position: int = 0, rest: bool = False)` for this class and version."""
    found = _decoders.get((cls, version))
    if found is None:
        from tidelog.wire.compile_decoder import compile_decoder

        schema, names = schema_of(cls, version)
        found = _decoders[cls, version] = compile_decoder(schema, version, names)
    return found


def encoder(cls: type[M], version: int) -> Callable[[M, bytearray], list[Part]]:
    """`encode(message, out: bytearray)`, which appends to `out` and answers the parts, `out` first."""
    found = _encoders.get((cls, version))
    if found is None:
        from tidelog.wire.compile_encoder import compile_encoder

        schema, names = schema_of(cls, version)
        found = _encoders[cls, version] = compile_encoder(schema, version, names)
    return found


def schema_of(cls: type[Message], version: int) -> tuple[MessageSchema, dict[str, Any]]:
    """The schema of a message, and the classes of its structs by name."""
    module = vars(sys.modules[cls.__module__])
    text = module.get("SCHEMA", {}).get(cls.__name__)
    if text is None:
        raise ProtocolError(f"{cls.__name__} is not a message of the protocol")
    schema = parse_message(text)
    if not schema.versions.hold(version):
        first, last = schema.versions
        raise ProtocolError(f"{cls.__name__} has versions {first} to {last}, not {version}")
    return schema, module
