"""Apache Kafka's kafka-dump-log reads the records of `__share_group_state`, our tagged fields included."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.interop.kafka_jars import JVM, QUIET, classpath, missing_tool
from tidelog.coordination.decision import ShardDecision
from tidelog.shares.place import SharePlace
from tidelog.shares.state.requests import StateWrite
from tidelog.shares.state.settings import ShareStateSettings
from tidelog.shares.state.shard import ShareStateShard
from tidelog.shares.states import DeadLetterWrite, DeliveryState, StateBatch
from tidelog.wire.record import Record, write_batch

DUMP = "org.apache.kafka.tools.DumpLogSegments"
PLACE = SharePlace("workers", bytes(range(16)), 3)
NOW_MS = 1_700_000_000_000


def records_of_a_life() -> list[tuple[bytes, bytes | None]]:
    """Initialized, read, written to with all that we add to Kafka's fields, a snapshot, deleted."""
    shard = ShareStateShard(ShareStateSettings(1), lambda topic, partition: True)
    records: list[tuple[bytes, bytes | None]] = []

    def write(decision: ShardDecision[Any]) -> None:
        records.extend(decision.records)
        shard.apply(decision, 0.0, NOW_MS)

    write(shard.initialize(PLACE, 1, 100, NOW_MS))
    write(shard.read(PLACE, 7))
    batches = [
        StateBatch(100, 104, DeliveryState.ACKNOWLEDGED, 1),
        StateBatch(105, 105, DeliveryState.AVAILABLE, 2, available_at=NOW_MS + 1000),
        StateBatch(106, 107, DeliveryState.ARCHIVING, 5),
    ]
    letters = DeadLetterWrite(4000, 0, 12, bytes(16), 1, ((106, 107),))
    write(shard.write(PLACE, StateWrite(1, 7, 100, batches, 5, letters, sequence=1)))
    snapshot = shard.tick(0.0, NOW_MS)
    assert snapshot is not None
    write(snapshot)
    write(shard.delete(PLACE))
    return records


def test_kafka_dump_log_reads_every_record(tmp_path: Path) -> None:
    if (missing := missing_tool()) is not None:
        pytest.skip(missing)
    written = records_of_a_life()
    segment = tmp_path / "00000000000000000000.log"
    records = [Record(n, NOW_MS, key, value) for n, (key, value) in enumerate(written)]
    segment.write_bytes(write_batch(records))
    command = [*JVM, *QUIET, "-cp", classpath(), DUMP, "--share-group-state-decoder", "--print-data-log"]
    done = subprocess.run(
        [*command, "--files", str(segment)], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.findall(r"key: (\{.*?\}) payload: (\{.*\}|<DELETE>|.*)$", done.stdout, re.MULTILINE)
    assert len(found) == len(written) == 5, done.stdout
    keys = [json.loads(key) for key, _ in found]
    assert {(key["data"]["groupId"], key["data"]["partition"]) for key in keys} == {("workers", 3)}
    assert [int(key["type"]) for key in keys] == [0, 1, 1, 0, 0]
    begun, read, update, snapshot = (json.loads(payload)["data"] for _, payload in found[:4])
    assert (begun["stateEpoch"], begun["startOffset"], begun["stateBatches"]) == (1, 100, [])
    assert read["leaderEpoch"] == 7
    states = [
        (b["firstOffset"], b["lastOffset"], b["deliveryState"], b["deliveryCount"])
        for b in update["stateBatches"]
    ]
    assert states == [(100, 104, 2, 1), (105, 105, 0, 2), (106, 107, 3, 5)]
    assert (snapshot["snapshotEpoch"], snapshot["stateBatches"]) == (1, update["stateBatches"])
    assert (snapshot["deliveryCompleteCount"], snapshot["createTimestamp"]) == (5, NOW_MS)
