"""kill -9 at moments that a seed chooses, while clients write: what was acknowledged is there, once.

A short run is part of the ordinary tests; CHAOS_ROUNDS=50 makes it as long as one likes.
"""

import os
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.chaos.numbered_records import (
    PATIENCE_S,
    Writer,
    create,
    every_acknowledged_record_is_there_once,
    read_all,
    writing,
)
from tests.chaos.victim import Victim, wait_until
from tidelog.server.encryption.key_file import add_key

pytestmark = pytest.mark.timeout(300)

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "3"))


def encrypted_settings(tmp_path: Path) -> dict[str, str]:
    add_key(str(tmp_path / "log.keys"), "first", bytes(range(32)))
    return {"log_dirs_encryption": "all", "log_dirs_encryption_key_file": str(tmp_path / "log.keys")}


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("durability", ["fsync", "os"])
def test_killed_while_appending_and_rolling(
    victim: Callable[..., Victim], tmp_path: Path, durability: str, is_encrypted: bool
) -> None:
    """Segments of 64 KiB, so that a kill meets a roll now and then. The page cache outlives a process."""
    rng = random.Random(f"append {durability}")
    settings = encrypted_settings(tmp_path) if is_encrypted else {}
    broker = victim(durability=durability, log_flush_offset_checkpoint_interval_ms=50, **settings)
    broker.start()
    create(broker.address, "t", segment_bytes="65536", index_interval_bytes="1024")
    with writing(Writer(broker.address, "t")) as writer:
        for _ in range(ROUNDS):
            goal = len(writer.acknowledged) + rng.randint(200, 1200)
            wait_until(lambda goal=goal: len(writer.acknowledged) >= goal, "records are acknowledged")
            broker.kill()
            broker.start()
    every_acknowledged_record_is_there_once(writer, read_all(broker.address, "t"))
    assert broker.terminate() == 0
    broker.start()
    every_acknowledged_record_is_there_once(writer, read_all(broker.address, "t"))


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
def test_killed_while_partitions_share_syncs(
    victim: Callable[..., Victim], tmp_path: Path, is_encrypted: bool
) -> None:
    """With a journal so small that its files are used again all the time."""
    rng = random.Random("shared syncs")
    settings = encrypted_settings(tmp_path) if is_encrypted else {}
    broker = victim(
        durability="fsync",
        log_journal_bytes=8 * 65536,
        log_flush_offset_checkpoint_interval_ms=50,
        **settings,
    )
    broker.start()
    topics = [f"t{number}" for number in range(5)]
    for topic in topics:
        create(broker.address, topic, segment_bytes="262144")
    with ExitStack() as stack:
        writers = [stack.enter_context(writing(Writer(broker.address, topic))) for topic in topics]
        for _ in range(ROUNDS):
            goal = sum(len(writer.acknowledged) for writer in writers) + rng.randint(1000, 4000)
            wait_until(
                lambda goal=goal: sum(len(writer.acknowledged) for writer in writers) >= goal,
                "records are acknowledged",
            )
            # Each start makes the journal anew, and so many records may have come in a few full batches.
            wait_until((broker.data / "tidelog-journal.1").exists, "the journal has a second file")
            broker.kill()
            broker.start()
    for topic, writer in zip(topics, writers, strict=True):
        every_acknowledged_record_is_there_once(writer, read_all(broker.address, topic))
    assert broker.terminate() == 0
    assert not list(broker.data.glob("tidelog-journal*"))
    assert "is damaged" not in broker.log_text()


def test_killed_while_compacting(victim: Callable[..., Victim]) -> None:
    """Of every key the newest acknowledged value is there, or a newer one; offsets still ascend."""
    rng = random.Random("compact")
    keys = 40
    broker = victim(durability="os", log_cleaner_backoff_ms=10)
    broker.start()
    create(
        broker.address,
        "t",
        cleanup_policy="compact",
        segment_bytes="32768",
        min_cleanable_dirty_ratio="0.01",
        file_delete_delay_ms="0",
    )
    with writing(Writer(broker.address, "t", key=lambda number: b"%d" % (number % keys))) as writer:
        for _ in range(ROUNDS):
            goal = len(writer.acknowledged) + rng.randint(500, 1500)
            wait_until(lambda goal=goal: len(writer.acknowledged) >= goal, "records are acknowledged")
            time.sleep(rng.random() / 20)  # not to wait for anything: to die at another moment each time
            broker.kill()
            broker.start()
    newest: dict[int, tuple[int, int]] = {}
    for number, offset in writer.acknowledged.items():
        newest[number % keys] = max(newest.get(number % keys, (-1, -1)), (offset, number))
    assert not writer.failures
    # Once the writing is over the cleaner gets everything but the active segment down to one value a key.
    found = read_all(broker.address, "t")
    wait_until(lambda: len(read_all(broker.address, "t")) < len(writer.acknowledged) // 2, "compaction")
    found = read_all(broker.address, "t")
    offsets = [offset for offset, _ in found]
    assert offsets == sorted(set(offsets))
    last = {number % keys: (offset, number) for offset, number in found}
    assert last == newest
    assert broker.terminate() == 0


def test_killed_while_topics_come_and_go(victim: Callable[..., Victim]) -> None:
    """What was answered holds after the kill; what was not answered holds wholly or not at all."""
    rng = random.Random("topics")
    broker = victim(durability="fsync")
    broker.start()
    existing: set[str] = set()
    unclear: set[str] = set()
    for round_number in range(ROUNDS):
        admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0, "socket.timeout.ms": 3000})
        for number in range(6):
            name = f"topic-{round_number}-{number}"
            admin.create_topics([NewTopic(name, 3, 1)], request_timeout=10)[name].result(PATIENCE_S)
            existing.add(name)
        for name in rng.sample(sorted(existing), 3):
            admin.delete_topics([name], request_timeout=10)[name].result(PATIENCE_S)
            existing.discard(name)
        doomed = rng.choice(sorted(existing))
        fresh = f"late-{round_number}"
        under_way = [
            *admin.delete_topics([doomed], request_timeout=3).values(),
            *admin.create_topics([NewTopic(fresh, 3, 1)], request_timeout=3).values(),
        ]
        time.sleep(rng.random() / 100)  # not to wait for anything: to die at another moment each time
        broker.kill()
        unclear |= {doomed, fresh}
        existing.discard(doomed)
        for future in under_way:
            try:
                future.result(PATIENCE_S)
            except KafkaException:
                pass
        broker.start()
        found = set(_topics(broker.address))
        assert existing <= found <= existing | unclear
        existing = found
        unclear = set()
    partitions = {path.name for path in broker.data.glob("*-[0-9]") if "metadata" not in path.name}
    assert partitions == {f"{name}-{index}" for name in existing for index in range(3)}
    for name in existing:
        _write_one(broker.address, name)
    assert broker.terminate() == 0
    assert "Traceback" not in broker.log_text()


def _topics(address: str) -> list[str]:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    return list(admin.list_topics(timeout=PATIENCE_S).topics)


def _write_one(address: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    verdicts: list[object] = []
    for partition in range(3):
        producer.produce(topic, b"v", partition=partition, on_delivery=lambda e, _: verdicts.append(e))
    assert producer.flush(PATIENCE_S) == 0
    assert verdicts == [None] * 3
