"""The clock of a real broker jumps by a year and back, and by an hour into the past."""

import time

import pytest

from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.victim import PATIENCE_S, wait_until
from tests.faults.log_calls import EARLIEST, batch, create_topic, offset_at, produce, read_all
from tests.faults.raw_client import RawClient

pytestmark = pytest.mark.timeout(200)

YEAR_MS = 365 * 24 * 3_600_000
HOUR_MS = 3_600_000
CHECKS_SECONDS = 1.5


@pytest.mark.parametrize("hold_ms", [24 * HOUR_MS, 0], ids=["held", "believed"])
def test_a_year_ahead_and_an_hour_back(tmp_path, hold_ms: int) -> None:
    settings = {
        "clock.jump.hold.ms": hold_ms,
        "log.retention.check.interval.ms": 200,
        "log.segment.delete.delay.ms": 0,
        "default.replication.factor": 1,
        "offsets.topic.replication.factor": 1,
        "min.insync.replicas": 1,
    }
    cluster = ProcessCluster(tmp_path, brokers=1, settings=settings)
    broker = cluster.members[1]
    try:
        cluster.start()
        with RawClient(broker.port) as client:
            create_topic(client, "t", segment_bytes="16384")
            sent = [number.to_bytes(4, "big") + bytes(4000) for number in range(20)]
            for value in sent:
                assert produce(client, "t", batch(value)).error_code == 0
            broker.set_clock(YEAR_MS)
            if not hold_ms:
                wait_until(lambda: offset_at(client, "t", EARLIEST) > 0, broker.log_tail, PATIENCE_S)
                return
            wait_until(lambda: "the clock jumped forward" in broker.log_text(), broker.log_tail, PATIENCE_S)
            time.sleep(CHECKS_SECONDS)
            assert [record.value for record in read_all(client, "t")] == sent
            broker.set_clock(0)
            wait_until(lambda: "the clock is back" in broker.log_text(), broker.log_tail, PATIENCE_S)
            broker.set_clock(-HOUR_MS)
            wait_until(lambda: "the clock jumped back" in broker.log_text(), broker.log_tail, PATIENCE_S)
            assert produce(client, "t", batch(b"past")).error_code == 0
            assert [record.value for record in read_all(client, "t")] == [*sent, b"past"]
        assert "Traceback" not in broker.log_text()
    finally:
        cluster.end()
