"""Every kind of answer that a handler may give, and what the connection gets for it."""

import asyncio
import gc
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.quotas import pausing
from tests.rigs.virtual_time import run
from tidelog.base.errors import ProtocolError
from tidelog.broker.requests.answer import NO_RESPONSE, CloseConnection
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.reply import Reply
from tidelog.broker.requests.routes import Routes
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

VERSION = 4


class OneHandler(Routes):
    """Heartbeat is handled by a function of the test."""

    def __init__(self, handle: Callable[[Context, Any], Any], fast_paths: Any = None) -> None:
        super().__init__({} if fast_paths is None else {ApiKey.HEARTBEAT: fast_paths})
        self._handle = handle

    def find(self, api_key: int, version: int) -> Any:
        route = super().find(api_key, version)
        return route._replace(handle=self._handle) if route is not None else None


def client(listener: str = "PLAINTEXT") -> ClientConnection:
    return ClientConnection("192.0.2.1", 5555, listener)


def frame() -> memoryview:
    parts = write_request(ApiKey.HEARTBEAT, VERSION, 7, "app", HeartbeatRequest(group_id="readers"))
    return memoryview(bytearray(b"".join(parts)))[4:]  # type: ignore[arg-type]


def dispatcher(
    handle: Callable[[Context, Any], Any], fast_paths: Any = None, throttle_ms: int = 40
) -> Dispatcher:
    services: Any = SimpleNamespace(
        throttle=pausing(throttle_ms) if throttle_ms else None,
        inter_broker_listener="BROKERS",
        authorizer=None,
    )
    made = Dispatcher(services, OneHandler(handle, fast_paths))
    made.is_open = True
    return made


def answer_of(reply: Reply) -> HeartbeatResponse:
    number, answer = read_response(ApiKey.HEARTBEAT, VERSION, b"".join(reply.parts)[4:])  # type: ignore[arg-type]
    assert number == 7
    assert isinstance(answer, HeartbeatResponse)
    assert answer.throttle_time_ms == reply.throttle_ms == 40
    return answer


def at_once(context: Context, _: Any) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=27)


async def by_coroutine(context: Context, _: Any) -> HeartbeatResponse:
    await asyncio.sleep(1)
    return HeartbeatResponse(error_code=27)


def by_future(context: Context, _: Any) -> "asyncio.Future[HeartbeatResponse]":
    loop = asyncio.get_running_loop()
    future: asyncio.Future[HeartbeatResponse] = loop.create_future()
    loop.call_later(1, future.set_result, HeartbeatResponse(error_code=27))
    return future


def nothing(context: Context, _: Any) -> object:
    return NO_RESPONSE


async def nothing_later(context: Context, _: Any) -> object:
    return NO_RESPONSE


def closes(context: Context, _: Any) -> object:
    raise CloseConnection(context.connection, "the records were refused")


async def closes_later(context: Context, _: Any) -> object:
    raise CloseConnection(context.connection, "the records were refused")


async def outcome(handle: Callable[[Context, Any], Any], throttle_ms: int = 40) -> Reply | None:
    reply = dispatcher(handle, throttle_ms=throttle_ms).dispatch(frame(), client())
    if reply is None or isinstance(reply, Reply):
        return reply
    arrived = asyncio.Event()
    reply.add_done_callback(lambda _: arrived.set())
    await arrived.wait()
    return reply.result()


@pytest.mark.parametrize("handle", [at_once, by_coroutine, by_future])
def test_a_response_is_sent_now_or_once_it_is_there(handle: Callable[[Context, Any], Any]) -> None:
    reply = run(outcome(handle))
    assert reply is not None
    assert answer_of(reply).error_code == 27
    assert not reply.close


@pytest.mark.parametrize("handle", [nothing, nothing_later])
def test_no_response_leaves_the_connection_alone(handle: Callable[[Context, Any], Any]) -> None:
    assert run(outcome(handle, throttle_ms=0)) is None


@pytest.mark.parametrize("handle", [nothing, nothing_later])
def test_a_client_without_responses_pauses_all_the_same(handle: Callable[[Context, Any], Any]) -> None:
    """Produce with acks=0 must not be a way around a quota."""
    reply = run(outcome(handle))
    assert reply is not None
    assert (reply.parts, reply.throttle_ms, reply.close) == ([], 40, False)


@pytest.mark.parametrize("handle", [closes, closes_later])
def test_a_handler_closes_the_connection_and_the_log_says_why(
    handle: Callable[[Context, Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tidelog.broker")
    reply = run(outcome(handle))
    assert reply is not None
    assert (reply.parts, reply.close) == ([], True)
    assert "closing 192.0.2.1:5555: the records were refused" in caplog.text


async def fails_later(context: Context, _: Any) -> object:
    raise IndexError("list index out of range")


@pytest.mark.parametrize(("handle", "is_logged"), [(closes_later, False), (fails_later, True)])
def test_a_failure_after_the_client_left_is_logged_and_a_refusal_is_not(
    handle: Callable[[Context, Any], Any], is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        serving = dispatcher(handle)
        pending: Any = serving.dispatch(frame(), client())
        pending.cancel()
        await serving.drain()
        del pending
        gc.collect()  # asyncio reports an exception that was never looked at when its task is collected

    run(main())
    assert [record.name for record in caplog.records] == (["tidelog.broker"] if is_logged else [])


def test_drain_waits_for_coroutines() -> None:
    async def main() -> None:
        serving = dispatcher(by_coroutine)
        pending: Any = serving.dispatch(frame(), client())
        await serving.drain()
        assert pending.done()

    run(main())


class Learner:
    """A fast path that answers every frame after the first."""

    def __init__(self) -> None:
        self.learned = 0

    def learn(self, frame: memoryview, context: Context, request: Any) -> None:
        self.learned += 1
        context.connection.fast_path = lambda frame, connection: Reply([b"fast"])


def test_a_fast_path_answers_before_anything_is_decoded() -> None:
    learner, connection = Learner(), client()
    serving = dispatcher(at_once, learner)
    assert answer_of(serving.dispatch(frame(), connection)).error_code == 27  # type: ignore[arg-type]
    fast: Any = serving.dispatch(memoryview(b"no request"), connection)
    assert fast.parts == [b"fast"]
    assert learner.learned == 1


def test_a_fast_path_that_declines_leaves_the_frame_to_its_handler() -> None:
    connection = client()
    connection.fast_path = lambda frame, connection: None
    reply: Any = dispatcher(at_once).dispatch(frame(), connection)
    assert answer_of(reply).error_code == 27


def test_nothing_is_learned_before_the_broker_is_open() -> None:
    """A fast path would overtake the requests that are held."""

    async def main() -> None:
        learner, connection = Learner(), client()
        serving = dispatcher(at_once, learner)
        serving.is_open = False
        held: Any = serving.dispatch(frame(), connection)
        serving.open()
        await held
        assert (learner.learned, connection.fast_path) == (0, None)

    run(main())


def test_requests_between_brokers_are_refused_on_a_listener_for_clients() -> None:
    raft = memoryview(int(ApiKey.RAFT).to_bytes(2, "big") + bytes(20))
    with pytest.raises(ProtocolError, match="is for brokers"):
        dispatcher(at_once).dispatch(raft, client())
