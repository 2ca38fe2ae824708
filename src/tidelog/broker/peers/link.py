"""Requests over one connection to another broker: each has a correlation id, and its response must carry it.

Knows the protocol but no sockets: the connection is a port, real or simulated.
"""

from collections.abc import Awaitable, Callable, Sequence

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer, Connection, FileSlice
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message, Part

_NUMBERS = 2**31


class Link:
    __slots__ = ("_client_id", "_connection", "_number")

    def __init__(self, connection: Connection, client_id: str) -> None:
        self._connection = connection
        self._client_id = client_id
        self._number = 0

    async def call(self, api_key: int, version: int, request: Message) -> Message:
        """Returns the response. Raises OSError without one, and ProtocolError for one that cannot be read."""
        answer, read = self.begin(api_key, version, request)
        return read(await answer)

    def begin(
        self, api_key: int, version: int, request: Message
    ) -> tuple[Awaitable[memoryview], Callable[[memoryview], Message]]:
        """The same in two steps: the bytes of the response to come, and the function that reads them."""
        number, frame = self._frame(api_key, version, request)

        def read(data: memoryview) -> Message:
            answered, answer = read_response(api_key, version, data)
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
        parts = write_request(api_key, version, self._number, self._client_id, request)
        return self._number, [_in_memory(part) for part in parts]


def _in_memory(part: Part) -> Buffer:
    return part.read() if isinstance(part, FileSlice) else part
