"""One request and its answer over a plain socket, for the few calls that librdkafka does not offer.

Defaults of the whole cluster (it refuses their empty name) and the sizes of partitions come this way,
so they are there only where the connection is neither encrypted nor authenticated.
"""

import socket
import struct
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import FileSlice
from tidelog.cli.session import Session
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message

CLIENT_ID = "tidelog-cli"
ANSWER_BYTES_MAX = 256 * 1024 * 1024


class NoAnswer(TimeoutError):
    """The broker took the request, and nothing came back in time."""


def is_plain(session: Session) -> bool:
    return session.properties.get("security.protocol", "plaintext").lower() == "plaintext"


def call(address: tuple[str, int], api: ApiKey, version: int, message: Message, timeout_s: float) -> Any:
    """Raises OSError where the broker is lost and ProtocolError where it answers nonsense."""
    parts = write_request(api, version, 1, CLIENT_ID, message)
    request = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
    with socket.create_connection(address, timeout_s) as connection:
        connection.sendall(request)
        (size,) = struct.unpack(">i", _exactly(connection, 4))
        if not 0 < size <= ANSWER_BYTES_MAX:
            raise ProtocolError(f"an answer of {size} bytes, limit {ANSWER_BYTES_MAX}")
        _, answer = read_response(api, version, _exactly(connection, size))
    return answer


def _exactly(connection: socket.socket, wanted: int) -> bytes:
    data = bytearray()
    while len(data) < wanted:
        try:
            piece = connection.recv(min(wanted - len(data), 1 << 20))
        except TimeoutError as error:
            raise NoAnswer(f"no answer within {connection.gettimeout() or 0:g} s") from error
        if not piece:
            raise ConnectionResetError("the broker closed the connection before its answer was complete")
        data += piece
    return bytes(data)
