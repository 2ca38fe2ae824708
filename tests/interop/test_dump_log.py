"""Apache Kafka's kafka-dump-log reads the broker's files: segments, indexes and producer snapshots."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from broker_process import BrokerProcess
from driver import CODECS, Record
from samples import AWKWARD
from waiting import eventually

DUMP = "org.apache.kafka.tools.DumpLogSegments"
# What the tool prints when a file is not what it should be.
COMPLAINTS = (
    "mismatch",
    "corrupt",
    "invalid",
    "exception",
    "error",
    "could not find",
    "isvalid: false",
)


@pytest.fixture
def folder(broker: BrokerProcess, make_topic: Callable[..., str], reference: Any) -> Path:
    """A partition with several segments, every codec, and an idempotent producer behind it."""
    if broker.data is None:
        pytest.skip("the data folder of the broker is not known: set TIDELOG_INTEROP_DATA")
    topic = make_topic(segment_bytes="1048576", index_interval_bytes="4096")
    for codec in CODECS:
        reference.produce(topic, AWKWARD, codec=codec)
    noise = [Record(b"%d" % number, bytes([number % 256]) * 5_000) for number in range(600)]
    reference.produce(topic, noise, idempotent=True, small_batches=True)
    [found] = broker.data.rglob(f"{topic}-0")
    eventually(lambda: len(list(found.glob("*.log"))) >= 3)
    return found


def test_kafka_dump_log_reads_every_file(open_client: Callable[[str], Any], folder: Path) -> None:
    java = open_client("java")

    def dump(files: list[Path], *options: str) -> str:
        printed = java.tool(DUMP, *options, "--files", ",".join(map(str, files)))
        # The records themselves may hold any word.
        said = "\n".join(line for line in printed.splitlines() if "payload:" not in line).lower()
        said = said.replace("isvalid: true", "")
        assert not [word for word in COMPLAINTS if word in said], said[:3_000]
        return str(printed)

    logs = sorted(folder.glob("*.log"))
    printed = dump(logs, "--deep-iteration", "--print-data-log")
    assert printed.count("isvalid: true") > 20
    assert "a deletion" in printed
    for codec in CODECS:
        assert f"compresscodec: {codec}" in printed.lower()
    active = logs[-1].stem
    # An active segment's indexes are preallocated, and the tool wants to see them in their final size.
    for kind in ("index", "timeindex"):
        sealed = [file for file in sorted(folder.glob(f"*.{kind}")) if file.stem != active]
        assert sealed
        dump(sealed)
        if kind == "index":
            dump(sealed, "--verify-index-only")
    snapshots = sorted(folder.glob("*.snapshot"))
    assert snapshots, "a roll leaves a snapshot of the producers"
    assert "producerid" in dump(snapshots).lower()
