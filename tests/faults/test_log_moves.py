"""Moving a partition between log dirs while it is written to, and what an interrupted move leaves."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.wire.messages.describe_log_dirs import DescribeLogDirsRequest

DEADLINE_S = 30.0


class TwoLogDirs:
    def __init__(self, root: Path) -> None:
        self.paths = [root / "first", root / "second"]
        self.broker = Broker(
            settings={"log.dirs": [str(path) for path in self.paths], "log.segment.bytes": 300_000}
        )

    def move(self, topic: str, partition: int, path: Path | str) -> int:
        request = AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=str(path), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[partition])]
                )
            ]
        )
        with RawClient(self.broker.port) as client:
            answer = client.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, request)
        return int(answer.results[0].partitions[0].error_code)

    def log_dirs(self, topic: str) -> list[tuple[str, bool]]:
        """(log dir, is it a copy under way) for each place where partition 0 of the topic lies."""
        with RawClient(self.broker.port) as client:
            answer = client.ask(ApiKey.DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=None))
        return [
            (Path(result.log_dir).name, partition.is_future_key)
            for result in answer.results
            for found in result.topics
            if found.name == topic
            for partition in found.partitions
        ]

    def create(self, topic: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers})
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(10)

    def values(self, topic: str) -> list[int]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.broker.bootstrap_servers,
                "group.id": "none",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(10)) is not None and not message.error():
            found.append(int(message.value()))
        consumer.close()
        return found


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoLogDirs]:
    log_dirs = TwoLogDirs(tmp_path)
    with log_dirs.broker:
        yield log_dirs


def refuse_errors(error: object, message: object) -> None:
    assert error is None, error


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "the deadline passed"
        time.sleep(0.02)


def other(two: TwoLogDirs, topic: str) -> Path:
    [(log_dir, _)] = two.log_dirs(topic)
    return next(path for path in two.paths if path.name != log_dir)


def test_a_partition_moves_while_it_is_written_to(two: TwoLogDirs) -> None:
    two.create("orders")
    target = other(two, "orders")
    producer = Producer(
        {"bootstrap.servers": two.broker.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1}
    )
    enough = threading.Event()
    written = []

    def write() -> None:
        number = 0
        while not enough.is_set():
            producer.produce("orders", str(number) + " " * 500, on_delivery=refuse_errors)
            producer.poll(0)
            written.append(number)
            number += 1
            if number % 200 == 0:
                producer.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        wait_until(lambda: len(written) > 3000)
        assert two.move("orders", 0, target) == ErrorCode.NONE
        wait_until(lambda: two.log_dirs("orders") == [(target.name, False)])
        count = len(written)
        wait_until(lambda: len(written) > count + 500)
    finally:
        enough.set()
        writer.join()
    assert producer.flush(10) == 0
    assert two.values("orders") == written
    assert [path.name for path in target.iterdir() if "orders" in path.name] == ["orders-0"]
    two.broker.restart()
    assert two.values("orders") == written


def test_moves_that_cannot_be_are_refused(two: TwoLogDirs) -> None:
    two.create("orders")
    assert two.move("orders", 0, "/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert two.move("unknown", 0, two.paths[1]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert two.move("orders", 9, two.paths[1]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    [(log_dir, _)] = two.log_dirs("orders")
    assert two.move("orders", 0, next(p for p in two.paths if p.name == log_dir)) == ErrorCode.NONE


def produce(two: TwoLogDirs, count: int) -> None:
    producer = Producer({"bootstrap.servers": two.broker.bootstrap_servers})
    for number in range(count):
        producer.produce("orders", str(number))
    assert producer.flush(10) == 0


def test_a_copy_that_was_complete_when_power_went_is_taken(two: TwoLogDirs) -> None:
    """The old directory was renamed, the new one not yet: what `LogMoves` does between its two renames."""
    two.create("orders")
    produce(two, 100)
    target = other(two, "orders")
    [log_dir] = [path for path in two.paths if path != target]
    two.broker._end()
    (log_dir / "orders-0").rename(target / "orders-0.anything-future")
    two.broker._begin()
    assert two.log_dirs("orders") == [(target.name, False)]
    assert two.values("orders") == list(range(100))


def test_a_copy_that_was_not_complete_is_dropped(two: TwoLogDirs) -> None:
    two.create("orders")
    produce(two, 100)
    target = other(two, "orders")
    [log_dir] = [path for path in two.paths if path != target]
    two.broker._end()
    shutil.copytree(log_dir / "orders-0", target / "orders-0.anything-future")
    two.broker._begin()
    assert two.log_dirs("orders") == [(log_dir.name, False)]
    assert two.values("orders") == list(range(100))
    assert not list(target.glob("*-future"))
