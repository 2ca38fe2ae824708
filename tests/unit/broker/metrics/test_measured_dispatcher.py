"""Requests by API and by where their time goes, with a dispatcher and a clock that the test controls."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.broker.metrics.measured_dispatcher import SAMPLED_EVERY, MeasuredDispatcher
from tidelog.broker.metrics.request_metrics import RequestMetrics
from tidelog.broker.metrics.slow_requests import SlowRequest
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.reply import LateReply, Reply
from tidelog.metrics.page import Page
from tidelog.metrics.text_format import text_of
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import response_writer
from tidelog.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

CLIENT = ClientConnection("192.0.2.1", 5, "PLAINTEXT")


def frame_of(key: int, size: int = 100) -> memoryview:
    return memoryview(bytearray(key.to_bytes(2, "big") + bytes(size - 2)))


class Rig:
    def __init__(self) -> None:
        self.now = 0.0
        self.soon: list[Callable[[], None]] = []
        self.metrics = RequestMetrics()
        self.answers: list[Callable[[], Any]] = []
        inner: Any = self
        self.dispatcher = MeasuredDispatcher(inner, self.metrics, inner, lambda: self.now)

    # What stands for the broker's dispatcher, and for the loop.

    def accepted(self, connection: ClientConnection) -> None: ...

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None: ...

    def overlap_group(self, frame: memoryview) -> int:
        return 1

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Any:
        return self.answers.pop()()

    def call_soon(self, then: Callable[[], None]) -> None:
        self.soon.append(then)

    # What a test does.

    def ask(self, answer: Any, *, seconds: float = 0.0, key: int = ApiKey.METADATA) -> Any:
        def respond() -> Any:
            self.now += seconds
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.answers.append(respond)
        return self.dispatcher.dispatch(frame_of(key), CLIENT)

    def turn(self) -> None:
        due, self.soon[:] = list(self.soon), []
        for then in due:
            then()

    def samples(self) -> dict[str, float]:
        page = Page()
        for _ in self.metrics.collect(page):
            pass
        lines = "".join(text_of(page, open_metrics=False)).splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name.removeprefix("tidelog_"): float(value) for name, _, value in pairs}


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_request_that_is_answered_at_once_is_local_time(rig: Rig) -> None:
    reply = Reply([b"12345678"])
    assert rig.ask(reply, seconds=0.004) is reply
    samples = rig.samples()
    assert samples['requests_total{api="Metadata"}'] == 1
    assert samples['request_bytes_total{api="Metadata"}'] == 100
    assert samples['response_bytes_total{api="Metadata"}'] == 8
    assert samples['request_seconds_bucket{api="Metadata",le="0.0025"}'] == 0
    assert samples['request_seconds_bucket{api="Metadata",le="0.005"}'] == 1
    assert samples['request_seconds_sum{api="Metadata"}'] == 0.004
    assert samples['request_part_seconds_sum{api="Metadata",part="local"}'] == 0.004
    for part in ("remote", "throttle", "send"):
        assert samples[f'request_part_seconds_sum{{api="Metadata",part="{part}"}}'] == 0
        assert samples[f'request_part_seconds_count{{api="Metadata",part="{part}"}}'] == 1


def test_a_request_without_an_answer_counts(rig: Rig) -> None:
    assert rig.ask(None, seconds=0.5, key=ApiKey.PRODUCE) is None
    assert rig.samples()['request_seconds_sum{api="Produce"}'] == 0.5


def test_a_late_reply_waits_for_others_and_is_under_way_meanwhile(rig: Rig) -> None:
    async def run() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def encode(_: str) -> Reply:
            rig.now += 0.001
            return Reply([b"123", b"45"], throttle_ms=250)

        late = rig.ask(LateReply(future, encode), seconds=0.002, key=ApiKey.FETCH)
        assert not late.done()
        assert rig.samples()["requests_in_flight"] == 1
        rig.now += 0.3
        future.set_result("answer")
        assert late.done()
        assert late.result().parts == [b"123", b"45"]

    asyncio.run(run())
    samples = rig.samples()
    assert samples["requests_in_flight"] == 0
    assert samples['response_bytes_total{api="Fetch"}'] == 5
    parts = {"local": 0.003, "remote": 0.3, "throttle": 0.25}
    for part, seconds in parts.items():
        assert samples[f'request_part_seconds_sum{{api="Fetch",part="{part}"}}'] == pytest.approx(seconds)
    assert samples['request_seconds_sum{api="Fetch"}'] == pytest.approx(0.303)


def test_a_client_that_leaves_ends_its_requests(rig: Rig) -> None:
    async def run() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        late = rig.ask(LateReply(future, lambda _: None))
        late.cancel()
        assert future.cancelled()

    asyncio.run(run())
    assert rig.samples()["requests_in_flight"] == 0


def test_a_request_that_fails_later_ends_once(rig: Rig) -> None:
    async def run() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        late = rig.ask(LateReply(future, lambda _: None))
        future.set_exception(ProtocolError("no"))
        with pytest.raises(ProtocolError):
            late.result()
        late.cancel()  # the connection is closed

    asyncio.run(run())
    assert rig.samples()["requests_in_flight"] == 0


def test_frames_that_break_the_protocol_are_no_requests(rig: Rig) -> None:
    with pytest.raises(ProtocolError):
        rig.ask(ProtocolError("no"))
    assert not [name for name in rig.samples() if name.startswith("requests_total")]


def test_bare_tokens_have_one_label_together(rig: Rig) -> None:
    for key in (0x7575, 0x4142, 30_000):
        rig.ask(Reply([b""]), key=key)
    rig.answers.append(lambda: Reply([b""]))
    rig.dispatcher.dispatch(memoryview(b"x"), CLIENT)
    names = [name for name in rig.samples() if name.startswith("requests_total")]
    assert names == ['requests_total{api="none"}']
    assert rig.samples()[names[0]] == 4


def test_the_queue_is_the_turn_of_the_loop_now_and_then(rig: Rig) -> None:
    for _ in range(SAMPLED_EVERY + 1):
        rig.ask(Reply([b""]), seconds=0.001)
    assert 'request_part_seconds_count{api="Metadata",part="queue"}' in rig.samples()
    rig.turn()
    for _ in range(3):
        rig.ask(Reply([b""]), seconds=0.01)
    rig.turn()
    rig.ask(Reply([b""]), seconds=0.01)
    samples = rig.samples()
    assert samples['request_part_seconds_count{api="Metadata",part="queue"}'] == 3
    assert samples['request_part_seconds_sum{api="Metadata",part="queue"}'] == pytest.approx(0.03)


def test_a_client_whose_socket_is_full_lets_its_answer_wait(rig: Rig) -> None:
    rig.ask(Reply([b""]), key=ApiKey.FETCH)
    begun = rig.metrics.send_begins()
    rig.ask(Reply([b""]), key=ApiKey.METADATA)
    rig.metrics.send_ends(begun)
    fetch, metadata = rig.metrics.of(ApiKey.FETCH), rig.metrics.of(ApiKey.METADATA)
    assert (fetch.send.count, metadata.send.count) == (1, 0)


def test_no_bucket_shrinks_when_a_response_has_arrived(rig: Rig) -> None:
    def buckets() -> list[float]:
        found = rig.samples()
        return [value for name, value in found.items() if 'part="send"' in name and "_bucket" in name]

    rig.ask(Reply([b""]))
    rig.ask(Reply([b""]))
    times, since = rig.metrics.send_begins()
    before = buckets()
    rig.metrics.send_ends((times, since - 3.0))
    after = buckets()
    assert all(now >= then for then, now in zip(before, after, strict=True))
    assert (before[-1], after[-1]) == (1, 2)


def test_slow_requests_are_reported_with_their_parts(rig: Rig) -> None:
    reported: list[SlowRequest] = []
    rig.metrics.watch_slow(0.1, reported.append)
    rig.metrics.counted_seconds = 0.1

    async def late(key: ApiKey) -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        waiting = rig.ask(LateReply(future, lambda _: Reply([b""])), seconds=0.01, key=key)
        rig.now += 0.5
        future.set_result("answer")
        waiting.result()

    rig.ask(Reply([b""]), seconds=0.09)
    rig.ask(Reply([b""], throttle_ms=40), seconds=0.2)
    asyncio.run(late(ApiKey.PRODUCE))
    asyncio.run(late(ApiKey.FETCH))  # it waits for records: nothing is slow
    assert [(slow.api, round(slow.local, 3), round(slow.remote, 3), slow.throttle) for slow in reported] == [
        ("Metadata", 0.2, 0.0, 0.04),
        ("Produce", 0.01, 0.5, 0.0),
    ]
    assert reported[0].total == pytest.approx(0.2)
    assert reported[0].connection is CLIENT
    samples = rig.samples()
    assert samples['slow_requests_total{api="Produce"}'] == 1
    assert samples['slow_requests_total{api="Fetch"}'] == 0


def test_watches_of_slow_requests_have_limits_of_their_own(rig: Rig) -> None:
    traced: list[SlowRequest] = []
    logged: list[SlowRequest] = []
    rig.metrics.watch_slow(0.1, traced.append)
    rig.metrics.watch_slow(0.5, logged.append)
    rig.metrics.counted_seconds = 0.5
    rig.metrics.trace_of = lambda frame: "trace"

    async def late() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        waiting = rig.ask(LateReply(future, lambda _: Reply([b""])), seconds=0.01, key=ApiKey.PRODUCE)
        rig.now += 0.5
        future.set_result("answer")
        waiting.result()

    rig.ask(Reply([b""]), seconds=0.2)
    rig.ask(Reply([b""]), seconds=0.3, key=ApiKey.PRODUCE)
    asyncio.run(late())
    assert [(slow.api, slow.trace) for slow in traced] == [
        ("Metadata", ""),
        ("Produce", "trace"),
        ("Produce", "trace"),
    ]
    assert [slow.api for slow in logged] == ["Produce"]
    assert rig.samples()['slow_requests_total{api="Produce"}'] == 1


def test_errors_are_counted_once_a_response_and_code(rig: Rig) -> None:
    spec = API[ApiKey.METADATA]
    write = rig.metrics.counting(spec.key, spec.response_class(), response_writer(spec.key, spec.max_version))
    codes = (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.LEADER_NOT_AVAILABLE)
    topics = [MetadataResponseTopic(error_code=code, name="t") for code in codes]
    plain = response_writer(spec.key, spec.max_version)
    for response in (MetadataResponse(topics=topics), MetadataResponse()):
        assert write(3, response) == plain(3, response)
    rig.metrics.count_error(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    errors = {name: count for name, count in rig.samples().items() if name.startswith("request_errors")}
    assert errors == {
        'request_errors_total{api="Metadata",error="LEADER_NOT_AVAILABLE"}': 1,
        'request_errors_total{api="Produce",error="NOT_LEADER_OR_FOLLOWER"}': 1,
    }
