"""Apache Kafka's kafka-dump-log reads the broker's files: segments, indexes and producer snapshots."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.broker_process import BrokerProcess
from tests.interop.driver import CODECS, Record
from tests.interop.drivers import confluent
from tests.interop.samples import AWKWARD
from tests.interop.waiting import eventually

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

SEGMENTS = {"segment_bytes": "1048576", "index_interval_bytes": "4096"}


@pytest.fixture
def dump(open_client: Callable[[str], Any]) -> Callable[..., str]:
    """Run the tool on files, insist that it does not complain, and give what it printed."""
    java = open_client("java")

    def run(files: list[Path], *options: str) -> str:
        printed = java.tool(DUMP, *options, "--files", ",".join(map(str, files)))
        # The records themselves may hold any word.
        said = "\n".join(line for line in printed.splitlines() if "payload:" not in line).lower()
        assert not [word for word in COMPLAINTS if word in said.replace("isvalid: true", "")], said[:3_000]
        return str(printed)

    return run


def write_a_bit_of_everything(client: Any, topic: str) -> None:
    """Every codec, and an idempotent producer whose records fill several segments."""
    for codec in CODECS:
        client.produce(topic, AWKWARD, codec=codec)
    noise = [Record(b"%d" % number, bytes([number % 256]) * 5_000) for number in range(600)]
    client.produce(topic, noise, idempotent=True, small_batches=True)


def test_kafka_dump_log_reads_the_files_of_a_running_broker(
    broker: BrokerProcess, dump: Callable[..., str], make_topic: Callable[..., str], reference: Any
) -> None:
    if broker.data is None:
        pytest.skip("the log dir of the broker is not known: set TIDELOG_INTEROP_DATA")
    topic = make_topic(**SEGMENTS)
    write_a_bit_of_everything(reference, topic)
    [directory] = broker.data.rglob(f"{topic}-0")
    eventually(lambda: len(list(directory.glob("*.log"))) >= 3)
    logs = sorted(directory.glob("*.log"))
    printed = dump(logs, "--deep-iteration", "--print-data-log")
    assert printed.count("isvalid: true") > 20
    assert "a deletion" in printed
    for codec in CODECS:
        assert f"compresscodec: {codec}" in printed.lower()
    # An active segment's indexes may be preallocated, and the tool wants to see them in their final size.
    for kind in ("index", "timeindex"):
        sealed = [file for file in sorted(directory.glob(f"*.{kind}")) if file.stem != logs[-1].stem]
        assert sealed
        dump(sealed)
    snapshots = sorted(directory.glob("*.snapshot"))
    assert snapshots, "a roll leaves a snapshot of the producers"
    assert "producerid" in dump(snapshots).lower()


def test_kafka_dump_log_reads_what_a_stopped_broker_leaves_and_a_restart_serves_it(
    dump: Callable[..., str], tmp_path: Path
) -> None:
    topic = "kept"
    running = BrokerProcess.start(tmp_path)
    try:
        client = confluent.Driver(running.address)
        client.create_topic(
            topic, configs={name.replace("_", "."): value for name, value in SEGMENTS.items()}
        )
        write_a_bit_of_everything(client, topic)
        before = client.consume(topic, 0, len(AWKWARD) * len(CODECS) + 600)
        client.close()
    finally:
        running.stop()
    [directory] = (tmp_path / "data").rglob(f"{topic}-0")
    for kind in ("log", "index", "timeindex", "snapshot"):
        files = sorted(directory.glob(f"*.{kind}"))
        assert files
        dump(files, *(["--deep-iteration"] if kind == "log" else []))
    dump(sorted(directory.glob("*.index")), "--verify-index-only")
    running = BrokerProcess.start(tmp_path)
    try:
        client = confluent.Driver(running.address)
        assert client.consume(topic, 0, len(before)) == before
        client.close()
    finally:
        running.stop()
