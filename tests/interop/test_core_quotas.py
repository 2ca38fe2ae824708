"""A quota on a machine of two cores: a real client that writes to both gets the rate once, not twice."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.fleet_process import FleetProcess, run_tidelog
from tests.interop.numbered_records import leaders
from tidelog.server.free_ports import free_ports

pytestmark = pytest.mark.timeout(120)
TOPIC, CLIENT = "orders", "limited"
RATE = 400_000
VALUE = b"v" * 10_000
RECORDS = 120
"""Three seconds at the rate, of which the burst of a window takes one."""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[str]:
    """A burst is what a second allows."""
    [port] = free_ports("localhost", 1, in_a_row=2)
    machine = FleetProcess(tmp_path, "--port", str(port), "--cores", "2", "--set", "quota.window.num=2")
    yield machine.servers
    assert machine.stop() == 0


def test_cores_share_one_rate(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(30)
    assert sorted(leaders(servers)) == [1, 1001]
    done = run_tidelog(servers, "quota", "set", "--client-id", CLIENT, "--producer-bytes", str(RATE))
    assert done.returncode == 0, done.stderr
    sent: Counter[int] = Counter()
    producer = Producer(
        {"bootstrap.servers": servers, "client.id": CLIENT, "batch.size": 20_000, "linger.ms": 0}
    )
    began = time.monotonic()
    for number in range(RECORDS):
        producer.produce(
            TOPIC,
            VALUE,
            partition=number % 2,
            on_delivery=lambda error, message: sent.update([message.partition()] if error is None else []),
        )
    assert producer.flush(60) == 0
    seconds = time.monotonic() - began
    assert sent == {0: RECORDS // 2, 1: RECORDS // 2}
    rate = RECORDS * len(VALUE) / (seconds + 1)
    assert 0.4 * RATE < rate < 1.25 * RATE, f"{RECORDS * len(VALUE)} bytes in {seconds:.1f} s"
