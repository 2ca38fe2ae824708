"""Numbers on requests, and answers that must carry them."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.rigs import virtual_time
from tidelog.base.errors import ProtocolError
from tidelog.base.ports import Buffer
from tidelog.broker.peers.link import Link
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_request_header, write_response
from tidelog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


class Echo:
    """Answers each request with its own number, plus `shift`."""

    def __init__(self, shift: int = 0) -> None:
        self.shift = shift
        self.sent: list[bytes] = []

    async def call(self, frame: Sequence[Buffer]) -> memoryview:
        data = b"".join(frame)
        header, _ = read_request_header(memoryview(data)[4:])
        self.sent.append(data)
        parts = write_response(
            header.api_key,
            header.api_version,
            header.correlation_id + self.shift,
            HeartbeatResponse(error_code=7),
        )
        return memoryview(b"".join(bytes(part) for part in parts))[4:]  # type: ignore[arg-type]

    def send(self, frame: Sequence[Buffer]) -> None:
        self.sent.append(b"".join(frame))

    def close(self) -> None: ...


def test_every_request_has_its_own_number_and_names_who_asks() -> None:
    async def ask() -> None:
        peer = Echo()
        link = Link(peer, "broker-1")
        for _ in range(3):
            answer = await link.call(ApiKey.HEARTBEAT, 4, HeartbeatRequest(group_id="g"))
            assert answer == HeartbeatResponse(error_code=7)
        headers = [read_request_header(memoryview(sent)[4:])[0] for sent in peer.sent]
        assert [header.correlation_id for header in headers] == [1, 2, 3]
        assert {header.client_id for header in headers} == {"broker-1"}

    virtual_time.run(ask())


def test_an_answer_to_another_request_is_nonsense() -> None:
    async def ask() -> None:
        with pytest.raises(ProtocolError, match="response to request 1 has correlation id 2"):
            await Link(Echo(shift=1), "broker-1").call(ApiKey.HEARTBEAT, 4, HeartbeatRequest())

    virtual_time.run(ask())


def test_a_request_without_an_answer_is_numbered_too() -> None:
    async def send() -> None:
        peer = Echo()
        link = Link(peer, "broker-1")
        link.send(ApiKey.HEARTBEAT, 4, HeartbeatRequest())
        await asyncio.wait_for(link.call(ApiKey.HEARTBEAT, 4, HeartbeatRequest()), 1)
        numbers = [read_request_header(memoryview(sent)[4:])[0].correlation_id for sent in peer.sent]
        assert numbers == [1, 2]

    virtual_time.run(send())
