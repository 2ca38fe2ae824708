"""What each step of the two busiest requests costs, one after the other: the table of docs/hot-path.md.

    python -m benches.hot_path [--rounds N]

One process and no event loop: every step is timed alone, on a real log in the page cache and a real socket.
In a running broker they cost more, since caches are shared with everything else; benches/produce.py and
benches/fetch.py measure that.
"""

import argparse
import os
import socket
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benches.rig.report import machine, show
from tests.rigs.partition import sole_leader
from tidelog.base.disk import PosixDisk
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.produce_shortcut import ProduceShortcut
from tidelog.broker.requests.routes import Routes
from tidelog.broker.security.client_quotas import ClientQuotas
from tidelog.replication.partition import Durability
from tidelog.security.quotas.entity import DEFAULT, QuotaEntity, QuotaKey, Quotas
from tidelog.server.clock import SystemClock
from tidelog.server.connection.buffer_pool import BufferPool
from tidelog.server.connection.receive_buffer import CHUNK_BYTES, ReceiveBuffer
from tidelog.storage.admission import admit
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.segment.warm import WarmSegments
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import read_header
from tidelog.wire.codec import decoder
from tidelog.wire.frame import read_request_header, response_writer, write_request
from tidelog.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

BATCH_BYTES = 16 * 1024
NOW_MS = 1_700_000_000_000
TURN = 200
TAIL_BYTES = 3  # of a Produce request behind its records: empty tag sections
PLENTY = 1e15
QUOTAS: dict[str, Quotas] = {
    "a quota of another user": {QuotaEntity(user="alice"): {QuotaKey.PRODUCER_BYTE_RATE: PLENTY}},
    "with a quota of bytes": {QuotaEntity(user=DEFAULT): {QuotaKey.PRODUCER_BYTE_RATE: PLENTY}},
    "with quotas of bytes and time": {
        QuotaEntity(user=DEFAULT): {
            QuotaKey.PRODUCER_BYTE_RATE: PLENTY,
            QuotaKey.REQUEST_PERCENTAGE: PLENTY,
        }
    },
}


def microseconds(
    rounds: int, work: Callable[[], object], prepare: Callable[[], object] | None = None
) -> float:
    """The best turn of many calls; `prepare` comes before each call and is not counted."""
    best = float("inf")
    for _ in range(max(1, rounds // TURN)):
        spent = 0.0
        for _ in range(TURN):
            if prepare is not None:
                prepare()
            began = time.perf_counter()
            work()
            spent += time.perf_counter() - began
        best = min(best, spent)
    return best / TURN * 1e6 - _CLOCK_US


def _clock_us() -> float:
    """What looking at the clock twice costs by itself."""
    began = time.perf_counter()
    for _ in range(10_000):
        time.perf_counter()
    return (time.perf_counter() - began) / 10_000 * 1e6


_CLOCK_US = _clock_us()


class Bench:
    def __init__(self, folder: str) -> None:
        self.disk = PosixDisk()
        self.config = LogConfig(segment_bytes=2**31 - 1)
        self.log = PartitionLog.open(
            self.disk, f"{folder}/orders-0", self.config, now_ms=NOW_MS, warm=WarmSegments(16)
        )
        self.partition = sole_leader(self.log, durability=Durability.OS, on_unsynced=lambda _: None)
        services: Any = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: NOW_MS),
            partitions=SimpleNamespace(find=lambda *_: self.partition),
            throttle=None,
            authorizer=None,
            inter_broker_listener="BROKERS",
        )
        self.services = services
        self.shortcut = ProduceShortcut(services)
        self.dispatcher = Dispatcher(services, Routes({ApiKey.PRODUCE: self.shortcut}))
        self.dispatcher.is_open = True
        self.client = ClientConnection("127.0.0.1", 1, "PLAINTEXT")
        record = Record(0, NOW_MS, b"key", os.urandom(BATCH_BYTES - 80))
        self.records = memoryview(write_batch([record]))

    def produce_frame(self) -> bytearray:
        data = [PartitionProduceData(index=0, records=self.records)]
        request = ProduceRequest(
            acks=1, timeout_ms=30_000, topic_data=[TopicProduceData(name="orders", partition_data=data)]
        )
        return bytearray(b"".join(write_request(ApiKey.PRODUCE, 12, 7, "app", request)))  # type: ignore[arg-type]


def receive(bench: Bench, rounds: int) -> None:
    whole = bench.produce_frame()
    ours, theirs = _connection()
    chunk = bytearray(CHUNK_BYTES)
    received = microseconds(rounds, lambda: ours.recv_into(chunk), lambda: theirs.sendall(whole))
    show("produce: recv", received, "us")
    chunk[: len(whole)] = whole
    buffer = ReceiveBuffer(chunk, 1 << 27, BufferPool(1 << 20))
    cut = microseconds(rounds, lambda: buffer.only_frame(len(whole)))
    show("produce: the frame out of the shared buffer", cut, "us")
    answer = bytes(80)
    sent = microseconds(rounds, lambda: ours.send(answer), lambda: _drain(theirs))
    show("produce: send of the answer", sent, "us")
    ours.close()
    theirs.close()


def append(bench: Bench, rounds: int) -> None:
    records = memoryview(bytearray(bench.records))
    admitted = microseconds(rounds, lambda: admit(records, bench.config, now_ms=NOW_MS))
    show("produce: admission, with the CRC of 16 KiB", admitted, "us")
    file = bench.disk.open(f"{bench.log.directory}/../bare", create=True)
    position = 0

    def write() -> None:
        nonlocal position
        file.write_at(position, [records])
        position += len(records)

    written = microseconds(rounds, write)
    show("produce: pwrite", written, "us")
    batches = [(0, read_header(records))]
    appended = microseconds(rounds, lambda: bench.log.append(records, batches, leader_epoch=0, now_ms=NOW_MS))
    show("produce: the rest of the append (offsets, indexes, segments)", appended - written, "us")


def dispatch(bench: Bench, rounds: int) -> None:
    frame = memoryview(bench.produce_frame())[4:]
    _, body_at = read_request_header(frame)
    decode = decoder(ProduceRequest, 12)
    decoded = microseconds(rounds, lambda: (read_request_header(frame), decode(frame, body_at, True)))
    show("produce: header and body decoded (the long way only)", decoded, "us")
    records_at = len(frame) - TAIL_BYTES - len(bench.records)

    def as_sent() -> None:
        frame[records_at : records_at + 8] = bytes(8)  # an append writes the offset into it

    as_sent()
    bench.dispatcher.dispatch(frame, bench.client)  # the long way, and it is remembered
    before = bench.log.end
    short = microseconds(rounds, lambda: bench.dispatcher.dispatch(frame, bench.client), as_sent)
    show("produce: frame to answer, short way, all in all", short, "us")
    for name, limits in QUOTAS.items():
        quotas = ClientQuotas(SystemClock(), windows=11, window_ms=1000)
        quotas.follow(limits)
        bench.services.throttle = quotas
        charged = microseconds(rounds, lambda: bench.dispatcher.dispatch(frame, bench.client), as_sent)
        show(f"produce: the same, {name}: more than without quotas", charged - short, "us")
    bench.services.throttle = None
    bench.shortcut.learn = lambda *_: None  # type: ignore[method-assign]
    stranger = ClientConnection("127.0.0.1", 1, "PLAINTEXT")
    long = microseconds(rounds, lambda: bench.dispatcher.dispatch(frame, stranger), as_sent)
    show("produce: frame to answer, long way, all in all", long, "us")
    if bench.log.end - before < rounds:
        raise RuntimeError("requests were refused, so this measured nothing")


def _connection() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
    for one in (ours, theirs):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return ours, theirs


def _drain(sock: socket.socket) -> None:
    sock.setblocking(False)
    try:
        sock.recv(1 << 20)
    except BlockingIOError:
        pass


def fetch(bench: Bench, rounds: int) -> None:
    topic = FetchTopic(topic="orders", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=[topic])
    frame = memoryview(b"".join(write_request(ApiKey.FETCH, 12, 7, "app", request)))[4:]  # type: ignore[arg-type]
    _, body_at = read_request_header(frame)
    decode = decoder(FetchRequest, 12)
    show(
        "fetch: header and body decoded",
        microseconds(rounds, lambda: (read_request_header(frame), decode(frame, body_at, True))),
        "us",
    )
    end = bench.log.end
    middle = end // 2
    show(
        "fetch: 1 MiB found in the log",
        microseconds(rounds, lambda: bench.log.read(middle, 1 << 20, end=end)),
        "us",
    )
    show(
        "fetch: the newest batch found in the log",
        microseconds(rounds, lambda: bench.log.read(end - 1, 1 << 20, end=end)),
        "us",
    )
    found = bench.log.read(middle, 1 << 20, end=end)
    if found is None:
        raise RuntimeError("nothing was written before")
    part = PartitionData(partition_index=0, high_watermark=end, records=found.slice)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=[part])])
    write = response_writer(ApiKey.FETCH, 12)
    show(
        "fetch: answer encoded, without a byte of its records",
        microseconds(rounds, lambda: write(7, response)),
        "us",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20_000)
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as folder:
        bench = Bench(folder)
        receive(bench, options.rounds)
        append(bench, options.rounds)
        dispatch(bench, options.rounds)
        fetch(bench, options.rounds)


if __name__ == "__main__":
    main()
