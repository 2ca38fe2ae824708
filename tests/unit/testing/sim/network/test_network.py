"""The simulated network: what arrives, in which order, and who hears of what does not."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tidelog.base.errors import ProtocolError
from tidelog.base.listener import Listener
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import Reply
from tidelog.testing.sim.network.network import SimConnection, SimNetwork
from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.testing.sim.runtime.trace import Trace

ADDRESS = Listener("PLAINTEXT", "server", 9092)


class Echo:
    """Answers each frame with itself; those that begin with `slow` after a second, `mute` never."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def dispatch(
        self, frame: memoryview, connection: ClientConnection
    ) -> "Reply | asyncio.Future[Reply | None] | None":
        text = bytes(frame)
        self.seen.append(text)
        if text == b"nonsense":
            raise ProtocolError("nonsense")
        reply = Reply([b"size", text])
        if text.startswith(b"slow"):
            future: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_later(1, _resolve, future, reply)
            return future
        return None if text.startswith(b"mute") else reply

    def accepted(self, connection: ClientConnection) -> None:
        """No client needs to authenticate."""

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """Nothing is recorded."""

    def overlap_group(self, frame: memoryview) -> int:
        return 0 if b"alone" in bytes(frame) else 2 if b"other" in bytes(frame) else 1


def _resolve(future: "asyncio.Future[Reply | None]", reply: Reply) -> None:
    if not future.done():
        future.set_result(reply)


class World:
    def __init__(self) -> None:
        self.loop = SimLoop()
        self.network = SimNetwork(self.loop, random.Random(1), Trace())
        self.client = Life("client")
        self.server: Life
        self.echo: Echo
        self.start_server()

    def start_server(self) -> None:
        self.server, self.echo = Life("server"), Echo()
        port = self.network.port_of(self.server, "server")

        async def listen() -> None:
            port.listen(self.echo, [ADDRESS])

        self.loop.run_until_complete(self.loop.spawn(self.server, listen()))

    def kill_server(self, *, quietly: bool = False) -> None:
        self.loop.kill(self.server)
        self.network.life_died(self.server, "server", quietly=quietly)

    def as_client(self, work: Callable[[SimConnection], Awaitable[Any]]) -> Any:
        connection = self.network.port_of(self.client, "client").connect("server", 9092)

        async def whole() -> Any:
            return await work(connection)

        return self.loop.run_until_complete(self.loop.spawn(self.client, whole()))


def frame(text: bytes) -> list[bytes]:
    return [b"size", text]


async def outcomes(*calls: "asyncio.Future[memoryview]", seconds: float = 30) -> list[object]:
    done = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), seconds)
    return [bytes(one) if isinstance(one, memoryview) else type(one) for one in done]


@pytest.fixture
def world() -> World:
    return World()


def test_answers_come_in_the_order_of_requests(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        texts = [b"slow 1", b"quick 2", b"slow 3", b"quick 4"]
        return await outcomes(*(connection.call(frame(text)) for text in texts))

    assert world.as_client(work) == [b"slow 1", b"quick 2", b"slow 3", b"quick 4"]
    assert world.echo.seen == [b"slow 1", b"quick 2", b"slow 3", b"quick 4"]


def test_where_nobody_listens_a_call_is_refused_and_the_next_waits_a_moment(world: World) -> None:
    world.kill_server()

    async def work(connection: SimConnection) -> list[object]:
        first = await outcomes(connection.call(frame(b"a")))
        second = await outcomes(connection.call(frame(b"b")))
        return first + second

    assert world.as_client(work) == [ConnectionError, ConnectionError]
    assert world.echo.seen == []


def test_a_killed_server_breaks_what_waits_and_its_successor_is_found(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        waiting = connection.call(frame(b"slow"))
        asyncio.get_running_loop().call_later(0.5, world.kill_server)
        first = await outcomes(waiting)
        return first

    assert world.as_client(work) == [ConnectionError]
    world.start_server()

    async def again(connection: SimConnection) -> list[object]:
        return await outcomes(connection.call(frame(b"again")))

    assert world.as_client(again) == [b"again"]


def test_a_machine_without_power_tells_nobody(world: World) -> None:
    async def work(connection: SimConnection) -> float:
        waiting = connection.call(frame(b"slow"))
        asyncio.get_running_loop().call_later(0.5, lambda: world.kill_server(quietly=True))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting, 20)
        return world.loop.now

    assert world.as_client(work) == pytest.approx(20)


def test_a_cut_holds_frames_back_and_mending_delivers_or_breaks(world: World) -> None:
    seen: set[object] = set()
    for seed in range(8):
        world = World()
        world.network.paths._random = random.Random(seed)

        async def work(connection: SimConnection, world: World = world) -> list[object]:
            await outcomes(connection.call(frame(b"before")))
            world.network.paths.block(["client"], ["server"])
            asyncio.get_running_loop().call_later(2, world.network.paths.mend_all)
            return await outcomes(connection.call(frame(b"held")))

        [outcome] = world.as_client(work)
        assert world.loop.now >= 2
        assert (b"held" in world.echo.seen) == (outcome == b"held")
        seen.add(outcome)
    assert seen == {b"held", ConnectionError}


def test_a_cut_of_the_way_back_hides_that_the_request_was_carried_out(world: World) -> None:
    async def work(connection: SimConnection) -> None:
        await outcomes(connection.call(frame(b"before")))
        world.network.paths.block(["server"], ["client"])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(connection.call(frame(b"done")), 3)

    world.as_client(work)
    assert world.echo.seen == [b"before", b"done"]


def test_after_a_long_silence_the_connection_is_given_up(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        await outcomes(connection.call(frame(b"before")))
        world.network.paths.block(["client"], ["server"])
        return await outcomes(connection.call(frame(b"lost")))

    assert world.as_client(work) == [ConnectionError]
    assert 3 < world.loop.now < 6


def test_loss_breaks_a_connection_before_or_after_the_request_was_carried_out() -> None:
    seen: set[tuple[bool, object]] = set()
    for seed in range(60):
        world = World()
        world.network.paths._random = random.Random(seed)
        world.network.paths.loss_rate = 0.3

        async def work(connection: SimConnection) -> list[object]:
            return await outcomes(connection.call(frame(b"x")))

        [outcome] = world.as_client(work)
        seen.add((b"x" in world.echo.seen, outcome))
    assert seen == {(True, b"x"), (True, ConnectionError), (False, ConnectionError)}


def test_one_way_messages_repeat_overtake_and_get_lost(world: World) -> None:
    world.network.paths.repeat_rate = 0.3
    world.network.paths.stray_rate = 0.3

    async def work(connection: SimConnection) -> None:
        for number in range(100):
            connection.send(frame(b"mute %02d" % number))
            await asyncio.sleep(0.001)
        await asyncio.sleep(3)

    world.as_client(work)
    seen = world.echo.seen
    assert len(set(seen)) < 100
    assert len(seen) > len(set(seen))
    assert seen != sorted(seen)


def test_a_clogged_path_delivers_late_and_in_order(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        await outcomes(connection.call(frame(b"before")))
        world.network.paths.clog("client", "server", until=world.loop.now + 2)
        return await outcomes(connection.call(frame(b"1")), connection.call(frame(b"2")))

    assert world.as_client(work) == [b"1", b"2"]
    assert 2 < world.loop.now < 2.1


def test_nonsense_closes_the_connection(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        return await outcomes(connection.call(frame(b"nonsense")))

    assert world.as_client(work) == [ConnectionError]


def test_a_paused_server_answers_when_it_goes_on(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        world.loop.pause(world.server)
        asyncio.get_running_loop().call_later(2, world.loop.resume, world.server)
        return await outcomes(connection.call(frame(b"patience")))

    assert world.as_client(work) == [b"patience"]
    assert world.loop.now > 2


def test_a_request_that_stands_alone_waits_for_those_before_it_and_others_for_it(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        texts = [b"slow 1", b"slow alone 2", b"quick 3"]
        calls = [connection.call(frame(text)) for text in texts]
        await asyncio.sleep(0.5)
        began = [list(world.echo.seen)]
        await asyncio.sleep(1)
        began.append(list(world.echo.seen))
        return [*began, await outcomes(*calls)]

    assert world.as_client(work) == [
        [b"slow 1"],
        [b"slow 1", b"slow alone 2"],
        [b"slow 1", b"slow alone 2", b"quick 3"],
    ]


def test_requests_of_another_group_wait_and_those_of_one_overlap(world: World) -> None:
    async def work(connection: SimConnection) -> list[object]:
        texts = [b"slow 1", b"slow other 2", b"slow other 3"]
        calls = [connection.call(frame(text)) for text in texts]
        await asyncio.sleep(0.5)
        began = [list(world.echo.seen)]
        await asyncio.sleep(1)
        began.append(list(world.echo.seen))
        return [*began, await outcomes(*calls)]

    assert world.as_client(work) == [
        [b"slow 1"],
        [b"slow 1", b"slow other 2", b"slow other 3"],
        [b"slow 1", b"slow other 2", b"slow other 3"],
    ]
