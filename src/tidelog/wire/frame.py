"""Request and response frames: a 4-byte size, a header, a message.

The frames that are read here come without their size; the ones that are written carry it.
"""

from collections.abc import Callable
from functools import cache, partial
from struct import Struct
from typing import Any, NamedTuple

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer
from tidelog.wire.apis import API
from tidelog.wire.codec import decoder, encoder
from tidelog.wire.message import Message, Part
from tidelog.wire.primitives import read_uvarint, skip_tags

_REQUEST_START = Struct(">hhi")
_SIZED_REQUEST = Struct(">ihhih")
_SIZED_RESPONSE = Struct(">ii")
_SIZED_TAGGED_RESPONSE = Struct(">iix")
_SIZE = Struct(">i")
_FRAME_BYTES_MAX = (1 << 31) - 1

# Of every version that is known: asked for each request, so it is looked up rather than worked out.
_IS_FLEXIBLE = {
    (spec.key, version): spec.is_flexible(version)
    for spec in API.values()
    for version in range(spec.min_version, spec.max_version + 1)
}

HEADER_TAGS_MAX = 128
"""Tagged fields of a header; Kafka defines none, so any number above a few is an attack."""


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


_new_header = partial(tuple.__new__, RequestHeader)


def read_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """The header, and where the body starts.

    A frame of an API or version that is not ours gives what its first 8 bytes say, so that the caller can
    refuse it by name; its client_id is None if it cannot be read, and its body has no meaning.
    """
    if len(frame) < 8:
        raise ProtocolError(f"a request of {len(frame)} bytes has no header")
    api_key, version, correlation_id = _REQUEST_START.unpack_from(frame)
    flexible = _IS_FLEXIBLE.get((api_key, version))
    if flexible is not None:
        client_id, position = _client_id(frame)
        if flexible:
            position = _header_tags(frame, position)
        return _new_header((api_key, version, correlation_id, client_id)), position
    try:
        client_id, position = _client_id(frame)
    except ProtocolError:
        client_id, position = None, 8
    return RequestHeader(api_key, version, correlation_id, client_id), position


def _client_id(frame: memoryview) -> tuple[str | None, int]:
    """A legacy string in every header version, so that a broker can read it before it knows the version."""
    if len(frame) < 10:
        raise ProtocolError("a request header ends before its client id")
    length = frame[8] << 8 | frame[9]
    if length == 0xFFFF:
        return None, 10
    end = 10 + length
    if length > 0x7FFF or end > len(frame):
        raise ProtocolError("a client id has a negative length or is cut short")
    try:
        return str(frame[10:end], "utf-8"), end
    except UnicodeDecodeError:
        raise ProtocolError("a client id is not UTF-8") from None


def _header_tags(frame: memoryview, position: int) -> int:
    try:
        if frame[position] == 0:
            return position + 1
        count, position = read_uvarint(frame, position)
        if count > HEADER_TAGS_MAX:
            raise ProtocolError(f"{count} tagged fields in a header, limit {HEADER_TAGS_MAX}")
        return skip_tags(frame, position, count)
    except IndexError:
        raise ProtocolError("a header ends within its tagged fields") from None


def write_request(
    api_key: int, version: int, correlation_id: int, client_id: str | None, message: Message
) -> list[Part]:
    return request_writer(api_key, version, client_id, type(message))(correlation_id, message)


def request_writer(
    api_key: int, version: int, client_id: str | None, request_class: type[Message]
) -> Callable[[int, Any], list[Part]]:
    """`write_request` with all that one API, version and client need looked up."""
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    if length > 0x7FFF:
        raise ProtocolError(f"a client id of {length} bytes")
    pack = _SIZED_REQUEST.pack
    rest = name + b"\0" if API[api_key].is_flexible(version) else name
    encode = encoder(request_class, version)

    def write(correlation_id: int, message: Any) -> list[Part]:
        out = bytearray(pack(0, api_key, version, correlation_id, length) + rest)
        return _sized(out, encode(message, out))

    return write


def write_response(api_key: int, version: int, correlation_id: int, message: Message) -> list[Part]:
    return response_writer(api_key, version)(correlation_id, message)


def response_writer(api_key: int, version: int) -> Callable[[int, Any], list[Part]]:
    """`write_response` with all that one API and version need looked up: `write(correlation_id, message)`."""
    spec = API[api_key]
    pack = (_SIZED_TAGGED_RESPONSE if spec.tags_in_response_header(version) else _SIZED_RESPONSE).pack
    encode = encoder(spec.response_class(), version)

    def write(correlation_id: int, message: Any) -> list[Part]:
        out = bytearray(pack(0, correlation_id))
        return _sized(out, encode(message, out))

    return write


def _sized(out: bytearray, parts: list[Part]) -> list[Part]:
    size = len(out) if len(parts) == 1 else sum(map(len, parts))
    if size > _FRAME_BYTES_MAX:
        raise ProtocolError(f"a frame of {size} bytes does not fit the protocol")
    _SIZE.pack_into(out, 0, size - 4)
    return parts


def read_response(api_key: int, version: int, frame: Buffer) -> tuple[int, Message]:
    """The correlation id and the message of an answer to a request of this API and version."""
    return response_reader(api_key, version)(frame)


@cache
def response_reader(api_key: int, version: int) -> Callable[[Buffer], tuple[int, Message]]:
    """`read_response` with all that one API and version need looked up."""
    spec = API[api_key]
    has_tags = spec.tags_in_response_header(version)
    decode = decoder(spec.response_class(), version)

    def read(frame: Buffer) -> tuple[int, Message]:
        view = memoryview(frame)
        if len(view) < 4:
            raise ProtocolError(f"a response of {len(view)} bytes has no header")
        (correlation_id,) = _SIZE.unpack_from(view)
        return correlation_id, decode(view, _header_tags(view, 4) if has_tags else 4)

    return read
