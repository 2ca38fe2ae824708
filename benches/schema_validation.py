"""What a check of schemas adds to a produce request, and that a topic without the check pays nothing.

    python -m benches.schema_validation [--rounds N]

Each figure is a request of about 16 KiB from frame to answer: on the short and the long path of a topic
without the check, and of a topic with it. The schema is known already, as for all batches but the first. In
turns, so that all meet the same machine; each figure is that of the best turn.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benches.rig.report import machine, show
from tests.rigs.partition import sole_leader
from tidelog.base.disk import PosixDisk
from tidelog.broker.registry.validation.validation import SchemaValidation
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.produce_shortcut import ProduceShortcut
from tidelog.broker.requests.routes import Routes
from tidelog.replication.partition import Durability
from tidelog.storage.log import PartitionLog
from tidelog.storage.log_config import LogConfig
from tidelog.storage.schema_checks import SchemaChecks, SubjectStrategy
from tidelog.storage.segment.warm import WarmSegments
from tidelog.wire.apis import ApiKey
from tidelog.wire.compression import Codec
from tidelog.wire.frame import write_request
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

NOW_MS = 1_700_000_000_000
TURN = 50
VERSION = 12
BATCH_BYTES = 16_384
OFFSET_BYTES = 8
CHECKS = SchemaChecks(None, SubjectStrategy.TOPIC)


class Known:
    """Every schema passes, by the same look into a dict as in a broker."""

    def __init__(self) -> None:
        self._until: dict[Any, float] = {}

    def passes(self, rule: Any, name: Any) -> bool:
        return time.monotonic() < self._until.setdefault((rule, name), float("inf"))


class Bench:
    def __init__(self, folder: str, checks: SchemaChecks | None, *, learns: bool) -> None:
        config = LogConfig(segment_bytes=2**31 - 1, schema_checks=checks)
        log = PartitionLog.open(PosixDisk(), folder, config, now_ms=NOW_MS, warm=WarmSegments(16))
        self.partition = sole_leader(log, durability=Durability.OS, on_unsynced=lambda _: None)
        known: Any = Known()
        services: Any = SimpleNamespace(
            clock=SimpleNamespace(now_ms=lambda: NOW_MS),
            partitions=SimpleNamespace(find=lambda *_: self.partition),
            registry=SimpleNamespace(validation=SchemaValidation(known)),
            throttle=None,
            inter_broker_listener="BROKERS",
            authorizer=None,
            audit=None,
            count_error=None,
            written_by_brokers=frozenset(),
        )
        dispatcher = Dispatcher(
            services, Routes({ApiKey.PRODUCE: ProduceShortcut(services)} if learns else {})
        )
        dispatcher.is_open = True
        self._send = dispatcher.dispatch
        self._client = ClientConnection("192.0.2.1", 1, "CLIENTS")

    def work(self, batch: bytes) -> Callable[[], object]:
        topic = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch)])
        request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
        parts: Any = write_request(ApiKey.PRODUCE, VERSION, 7, "app", request)
        frame = memoryview(bytearray(b"".join(parts)))[4:]
        at = bytes(frame).index(batch)
        empty = bytes(OFFSET_BYTES)

        def work() -> None:
            frame[at : at + OFFSET_BYTES] = empty  # an append writes the offset into it
            self._send(frame, self._client)

        before = self.partition.log.end
        work()
        if self.partition.log.end == before:
            raise RuntimeError("the request was refused, so this would measure nothing")
        return work


def batch_of(record_bytes: int, codec: Codec) -> bytes:
    value = b"\0\0\0\0\1" + bytes(range(256)) * (record_bytes // 256 + 1)
    count = BATCH_BYTES // record_bytes
    records = [Record(number, NOW_MS, None, value[:record_bytes]) for number in range(count)]
    return bytes(write_batch(records, codec=codec))


def compare(what: str, rounds: int, works: dict[str, Callable[[], object]]) -> None:
    best = dict.fromkeys(works, float("inf"))
    for _ in range(max(2, rounds // TURN)):
        for name, work in works.items():
            began = time.perf_counter()
            for _ in range(TURN):
                work()
            best[name] = min(best[name], (time.perf_counter() - began) / TURN * 1e6)
    for name, spent in best.items():
        show(f"{what}: {name}", spent, "us")


def run(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        benches = {
            "no check, short path": Bench(f"{folder}/a", None, learns=True),
            "no check, long path": Bench(f"{folder}/b", None, learns=False),
            "checked": Bench(f"{folder}/c", CHECKS, learns=True),
        }
        for record_bytes, codec in (
            (1024, Codec.NONE),
            (100, Codec.NONE),
            (100, Codec.LZ4),
            (100, Codec.ZSTD),
        ):
            batch = batch_of(record_bytes, codec)
            what = f"{BATCH_BYTES // record_bytes} records of {record_bytes} B, {codec.name.lower()}"
            compare(what, rounds, {name: bench.work(batch) for name, bench in benches.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3000)
    print(machine())
    run(parser.parse_args().rounds)


if __name__ == "__main__":
    main()
