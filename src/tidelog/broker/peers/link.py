"""Requests over one connection to another broker: each has a correlation id, and its response must carry it.

Knows the protocol but no sockets: the connection is a port, real or simulated.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer, Connection, FileSlice
from tidelog.wire.frame import request_writer, response_reader
from tidelog.wire.message import Message, Part

_NUMBERS = 2**31


class _Codec(NamedTuple):
    """Of one API and version, with all looked up that each call would look up again."""

    write: Callable[[int, Any], list[Part]]
    read: Callable[[Buffer], tuple[int, Message]]


class Link:
    __slots__ = ("_client_id", "_codecs", "_connection", "_number")

    def __init__(self, connection: Connection, client_id: str) -> None:
        self._connection = connection
        self._client_id = client_id
        self._number = 0
        self._codecs: dict[tuple[int, int], _Codec] = {}

    async def call(self, api_key: int, version: int, request: Message) -> Message:
        """Returns the response. Raises OSError without one, and ProtocolError for one that cannot be read."""
        answer, read = self.begin(api_key, version, request)
        return read(await answer)

    def begin(
        self, api_key: int, version: int, request: Message
    ) -> tuple[Awaitable[memoryview], Callable[[memoryview], Message]]:
        """The same in two steps: the bytes of the response to come, and the function that reads them."""
        number, frame = self._frame(api_key, version, request)
        read_response = self._codecs[api_key, version].read

        def read(data: memoryview) -> Message:
            answered, answer = read_response(data)
            if answered != number:
                raise ProtocolError(f"the response to request {number} has correlation id {answered}")
            return answer

        return self._connection.call(frame), read

    def send(self, api_key: int, version: int, request: Message) -> None:
        """Send a request that has no response and may be lost."""
        self._connection.send(self._frame(api_key, version, request)[1])

    def close(self) -> None:
        self._connection.close()

    def _frame(self, api_key: int, version: int, request: Message) -> tuple[int, Sequence[Buffer]]:
        self._number = (self._number + 1) % _NUMBERS
        codec = self._codecs.get((api_key, version)) or self._codec(api_key, version, type(request))
        parts = codec.write(self._number, request)
        return self._number, [_in_memory(part) for part in parts]

    def _codec(self, api_key: int, version: int, request_class: type[Message]) -> _Codec:
        write = request_writer(api_key, version, self._client_id, request_class)
        codec = _Codec(write, response_reader(api_key, version))
        self._codecs[api_key, version] = codec
        return codec


def _in_memory(part: Part) -> Buffer:
    return part.read() if isinstance(part, FileSlice) else part
