"""Which connection a request to another broker takes, and how the controller is followed."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest

from tests.rigs import virtual_time
from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NodeId
from tidelog.base.ports import Buffer
from tidelog.broker.peers.peers import LINKS_MAX, Peers, PeerUnavailable
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_request_header, write_response
from tidelog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

Behave = Callable[["FakeConnection", int], Awaitable[int]]


class FakeConnection:
    def __init__(self, network: "FakeNetwork", host: str, port: int) -> None:
        self.network = network
        self.address = host, port
        self.calls = 0
        self.sends = 0
        self.closed = False

    async def call(self, frame: Sequence[Buffer]) -> memoryview:
        self.calls += 1
        header, _ = read_request_header(memoryview(b"".join(frame))[4:])
        code = await self.network.behave(self, self.calls)
        parts = write_response(
            header.api_key, header.api_version, header.correlation_id, HeartbeatResponse(error_code=code)
        )
        return memoryview(b"".join(bytes(part) for part in parts))[4:]  # type: ignore[arg-type]

    def send(self, frame: Sequence[Buffer]) -> None:
        self.sends += 1

    def close(self) -> None:
        self.closed = True


class FakeNetwork:
    def __init__(self, behave: Behave) -> None:
        self.behave = behave
        self.made: list[FakeConnection] = []

    def connect(self, host: str, port: int) -> FakeConnection:
        self.made.append(FakeConnection(self, host, port))
        return self.made[-1]


class Rig:
    def __init__(self, behave: Behave) -> None:
        self.network = FakeNetwork(behave)
        self.addresses: dict[NodeId, tuple[str, int]] = {2: ("two", 9092), 3: ("three", 9092)}
        self.controller: NodeId | None = 2
        self.peers = Peers(self.network, 1, self.addresses.get, lambda: self.controller)

    def call(self, node_id: NodeId = 2, timeout: float = 1.0) -> Coroutine[Any, Any, Any]:
        return self.peers.call(node_id, ApiKey.HEARTBEAT, 4, HeartbeatRequest(), timeout=timeout)

    def ask_controller(self, timeout: float = 10.0) -> Coroutine[Any, Any, Any]:
        return self.peers.call_controller(ApiKey.HEARTBEAT, 4, HeartbeatRequest(), timeout=timeout)


async def at_once(_: FakeConnection, __: int) -> int:
    return 0


async def after_a_second(_: FakeConnection, __: int) -> int:
    await asyncio.sleep(1)
    return 0


async def never(_: FakeConnection, __: int) -> int:
    await asyncio.sleep(1e6)
    return 0


def test_an_idle_connection_is_used_again() -> None:
    async def work() -> None:
        rig = Rig(at_once)
        for _ in range(5):
            assert await rig.call() == HeartbeatResponse()
        assert [made.calls for made in rig.network.made] == [5]

    virtual_time.run(work())


def test_a_request_does_not_stand_behind_a_slow_one_while_there_are_few() -> None:
    async def work() -> None:
        rig = Rig(after_a_second)
        await asyncio.gather(*(rig.call(timeout=60) for _ in range(LINKS_MAX + 3)))
        assert len(rig.network.made) == LINKS_MAX
        assert sum(made.calls for made in rig.network.made) == LINKS_MAX + 3

    virtual_time.run(work())


def test_a_connection_whose_answer_is_overdue_is_left() -> None:
    async def work() -> None:
        rig = Rig(never)
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await rig.call(timeout=3)
        assert asyncio.get_running_loop().time() == pytest.approx(6)
        assert [made.closed for made in rig.network.made] == [True, True]

    virtual_time.run(work())


def test_a_connection_that_failed_is_kept_since_it_knows_when_to_try_again() -> None:
    async def refuse(_: FakeConnection, __: int) -> int:
        raise ConnectionRefusedError

    async def work() -> None:
        rig = Rig(refuse)
        for _ in range(3):
            with pytest.raises(ConnectionError):
                await rig.call()
        assert [(made.calls, made.closed) for made in rig.network.made] == [(3, False)]

    virtual_time.run(work())


def test_a_broker_that_moved_is_called_where_it_is_now() -> None:
    async def work() -> None:
        rig = Rig(at_once)
        await rig.call()
        rig.addresses[2] = ("elsewhere", 9093)
        await rig.call()
        assert [(made.address, made.closed) for made in rig.network.made] == [
            (("two", 9092), True),
            (("elsewhere", 9093), False),
        ]

    virtual_time.run(work())


def test_an_unknown_broker_is_said_to_be_so_and_a_send_to_it_is_lost() -> None:
    async def work() -> None:
        rig = Rig(at_once)
        with pytest.raises(PeerUnavailable, match="broker 9"):
            await rig.call(9)
        rig.peers.send(9, ApiKey.HEARTBEAT, 4, HeartbeatRequest())
        assert rig.network.made == []

    virtual_time.run(work())


def test_sends_share_one_connection_of_their_own() -> None:
    async def work() -> None:
        rig = Rig(never)
        waiting = asyncio.ensure_future(rig.call())
        await asyncio.sleep(0)
        for _ in range(4):
            rig.peers.send(2, ApiKey.HEARTBEAT, 4, HeartbeatRequest())
        assert [made.sends for made in rig.network.made] == [0, 4]
        waiting.cancel()
        rig.peers.close()
        assert all(made.closed for made in rig.network.made)

    virtual_time.run(work())


def test_the_controller_is_followed_until_it_answers_as_one() -> None:
    async def work() -> None:
        async def behave(connection: FakeConnection, _: int) -> int:
            if connection.address[0] == "two":
                rig.controller = None  # it has heard of an election
                asyncio.get_running_loop().call_later(2, setattr, rig, "controller", 3)
                return ErrorCode.NOT_CONTROLLER
            return 0

        rig = Rig(behave)
        assert await rig.ask_controller() == HeartbeatResponse()
        assert [made.calls for made in rig.network.made] == [1, 1]
        assert 2 <= asyncio.get_running_loop().time() < 3

    virtual_time.run(work())


def test_a_controller_that_stands_still_is_left_when_there_is_another() -> None:
    async def behave(connection: FakeConnection, _: int) -> int:
        if connection.address[0] == "two":
            await asyncio.sleep(1000)
        return 0

    async def work() -> None:
        rig = Rig(behave)
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.call_later(2, lambda: setattr(rig, "controller", None))
        loop.call_later(3, lambda: setattr(rig, "controller", 3))
        asking = rig.peers.call_controller(
            ApiKey.HEARTBEAT, 4, HeartbeatRequest(), timeout=30, attempt_timeout=30
        )
        assert (await asking).error_code == 0
        assert loop.time() - began < 4
        assert [connection.address[0] for connection in rig.network.made] == ["two", "three"]
        assert rig.network.made[0].closed

    virtual_time.run(work())


def test_no_controller_for_too_long_is_an_error_that_says_what_was_tried() -> None:
    async def refuse(_: FakeConnection, __: int) -> int:
        raise ConnectionRefusedError("nobody listens")

    async def work() -> None:
        rig = Rig(refuse)
        with pytest.raises(PeerUnavailable, match="within 4 s: broker 2: nobody listens"):
            await rig.ask_controller(timeout=4)
        assert asyncio.get_running_loop().time() == pytest.approx(4)

    virtual_time.run(work())


def test_requests_to_this_very_broker_need_no_network() -> None:
    async def here(api_key: int, version: int, request: object) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=api_key)

    async def work() -> None:
        rig = Rig(never)
        rig.peers.call_here = here
        rig.controller = 1
        assert await rig.ask_controller() == HeartbeatResponse(error_code=ApiKey.HEARTBEAT)
        assert rig.network.made == []

    virtual_time.run(work())
