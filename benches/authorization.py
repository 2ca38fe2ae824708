"""What the authorizer adds to the two busiest requests: produce by the short and the long way, and fetch.

    python -m benches.authorization [--rounds N]

Two equal partitions are served side by side, one by a broker without an authorizer and one by a broker with
1,000 ACLs, in turns, so that both meet the same machine; each figure is that of the best turn. Aim: under
1 us for a request with an authorizer, and nothing that can be measured without.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benches.rig.report import machine, show
from tests.rigs.partition import sole_leader
from tests.rigs.sample_requests.records import BY_NAME, fetch, produce
from tidelog.base.config.config import load
from tidelog.base.disk import PosixDisk
from tidelog.broker.metrics.measured_dispatcher import MeasuredDispatcher
from tidelog.broker.metrics.request_metrics import RequestMetrics
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.fetch_sessions import FetchSessions
from tidelog.broker.requests.produce_shortcut import ProduceShortcut
from tidelog.broker.requests.routes import Routes
from tidelog.broker.security.authorizer import Authorizer
from tidelog.metadata.image.security import SecurityImage
from tidelog.replication.partition import Durability
from tidelog.security.acls.acl import WILDCARD, Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.server.clock import SystemClock, SystemRandom
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.warm import WarmSegments
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.fetch import FetchRequest

NOW_MS = 1_700_000_000_000
TURN = 100
ACLS = 1000
USER = "User:alice"
OFFSET_BYTES = 8


class Bench:
    """A partition behind a dispatcher, with an authorizer or without, measured or not."""

    def __init__(
        self, folder: str, authorizer: Authorizer | None, measured: RequestMetrics | None = None
    ) -> None:
        log = PartitionLog.open(
            PosixDisk(), folder, LogConfig(segment_bytes=2**31 - 1), now_ms=NOW_MS, warm=WarmSegments(16)
        )
        self.partition = sole_leader(log, durability=Durability.OS, on_unsynced=lambda _: None)
        services: Any = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: NOW_MS),
            partitions=SimpleNamespace(find=lambda *_: self.partition, find_any=lambda *_: self.partition),
            sessions=FetchSessions(SystemClock(), SystemRandom(), slots=10, evict_after_ms=1000),
            config=load(None, {}, {}),
            throttle=None,
            inter_broker_listener="BROKERS",
            authorizer=authorizer,
            audit=None,
            denials={},
            count_error=None if measured is None else measured.count_error,
            written_by_brokers=frozenset(),
        )
        self.shortcut = ProduceShortcut(services)
        watch = None if measured is None else measured.counting
        dispatcher = Dispatcher(services, Routes({ApiKey.PRODUCE: self.shortcut}, None, watch))
        dispatcher.is_open = True
        self.send: Callable[[memoryview, ClientConnection], Any] = dispatcher.dispatch
        if measured is not None:
            self.send = MeasuredDispatcher(dispatcher, measured, asyncio.get_running_loop()).dispatch

    @staticmethod
    def connection() -> ClientConnection:
        made = ClientConnection("192.0.2.1", 1, "CLIENTS")
        made.principal = USER
        return made


def with_acls() -> Authorizer:
    """Alice may read and write `orders`; the other ACLs are about other topics."""
    authorizer = Authorizer()
    names = ["orders", *(f"topic-{number}" for number in range(ACLS // 2))]
    acls = frozenset(
        Acl(ResourceType.TOPIC, PatternType.LITERAL, name, USER, WILDCARD, operation, Permission.ALLOW)
        for name in names
        for operation in (Operation.READ, Operation.WRITE)
    )
    image: Any = SimpleNamespace(security=SecurityImage(acls=acls))
    authorizer.follow(image)
    return authorizer


def frame_of(key: ApiKey, request: Message, version: int = BY_NAME) -> bytearray:
    return bytearray(b"".join(write_request(key, version, 7, "app", request)))[4:]  # type: ignore[arg-type]


def compare(what: str, rounds: int, works: list[Callable[[], object]], added: str) -> None:
    """The cost of each work in us, and what the second adds to the first; in turns."""
    spent: list[list[float]] = [[], []]
    for turn in range(max(2, rounds // TURN)):
        for number in (0, 1) if turn % 2 else (1, 0):
            work = works[number]
            began = time.perf_counter()
            for _ in range(TURN):
                work()
            spent[number].append((time.perf_counter() - began) / TURN * 1e6)
    without, with_one = map(min, spent)
    show(f"{what}: without {added}", without, "us")
    show(f"{what}: with {added}", with_one, "us")
    show(f"{what}: added", with_one - without, "us", at_most=1)


def produced(bench: Bench, *, is_short: bool) -> Callable[[], object]:
    frame = memoryview(frame_of(ApiKey.PRODUCE, produce(b"v" * 1000, acks=1)))
    batch = produce(b"v" * 1000).topic_data[0].partition_data[0].records
    at = bytes(frame).index(bytes(batch or b""))
    empty = bytes(OFFSET_BYTES)
    client = bench.connection()

    def work() -> None:
        frame[at : at + OFFSET_BYTES] = empty  # an append writes the offset into it
        if not is_short:
            client.fast_path = None
        bench.send(frame, client)

    work()
    if not is_short:
        bench.shortcut.learn = lambda *_: None  # type: ignore[method-assign]
    before = bench.partition.log.end
    work()
    if bench.partition.log.end != before + 1 or is_short != (client.fast_path is not None):
        raise RuntimeError("the request was refused, so this would measure nothing")
    return work


def fetched(bench: Bench) -> Callable[[], object]:
    """Requests within a session, each with a record to read."""
    client = bench.connection()
    first = bench.send(memoryview(frame_of(ApiKey.FETCH, fetch(session_epoch=0, max_bytes=100))), client)
    parts = [
        part if isinstance(part, bytes | bytearray | memoryview) else part.read() for part in first.parts
    ]
    opened = read_response(ApiKey.FETCH, BY_NAME, memoryview(b"".join(parts))[4:])[1]
    if not opened.session_id or not opened.responses[0].partitions[0].records:
        raise RuntimeError("the request was refused, so this would measure nothing")
    epoch = 0

    def work() -> None:
        nonlocal epoch
        epoch += 1
        request = FetchRequest(
            session_id=opened.session_id, session_epoch=epoch, min_bytes=1, max_bytes=100, topics=[]
        )
        bench.send(memoryview(frame_of(ApiKey.FETCH, request)), client)

    return work


def compare_all(rounds: int, benches: list[Bench], added: str) -> None:
    compare("produce, short way", rounds, [produced(bench, is_short=True) for bench in benches], added)
    compare("produce, long way", rounds, [produced(bench, is_short=False) for bench in benches], added)
    compare("fetch in a session", rounds, [fetched(bench) for bench in benches], added)


async def run(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        benches = [Bench(f"{folder}/orders-0", None), Bench(f"{folder}/orders-1", with_acls())]
        compare_all(rounds, benches, f"an authorizer and {ACLS:,} ACLs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20_000)
    arguments = parser.parse_args()
    print(machine())
    asyncio.run(run(arguments.rounds))


if __name__ == "__main__":
    main()
