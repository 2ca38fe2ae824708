"""Too many open files under a whole broker: a log that could not roll or sync goes on by itself."""

import errno
import threading

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import batch, create_topic, produce, read_all
from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E
from tests.faults.raw_client import wait_until

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
def test_a_roll_without_a_descriptor(error: int, broker_log: Lines) -> None:
    with NodeThread(durability="os") as node:
        with node.connect() as client:
            create_topic(client, "t", segment_bytes="16384")
            node.disk.fail("open", "/data/t-0/", error=error)
            acknowledged = []
            for number in range(30):
                value = number.to_bytes(4, "big") + bytes(1000)
                answer = produce(client, "t", batch(value))
                if answer.error_code:
                    assert E(answer.error_code) is E.KAFKA_STORAGE_ERROR
                    assert "ulimit -n" in (answer.error_message or "")
                    break
                acknowledged.append(value)
            assert 10 < len(acknowledged) < 30, "the segment was full"
            node.disk.heal()
            wait_until(lambda: not produce(client, "t", batch(b"after")).error_code, "it goes on")
            assert [record.value for record in read_all(client, "t")] == [*acknowledged, b"after"]
        assert sum("until a descriptor is free" in line for line in broker_log.text) == 1
        node.stop()
        node.start()
        with node.connect() as client:
            assert [record.value for record in read_all(client, "t")] == [*acknowledged, b"after"]


def test_a_sync_without_a_descriptor_is_tried_again(broker_log: Lines) -> None:
    """The sealed segment is opened for it; nothing is acknowledged before that succeeds."""
    with NodeThread(durability="fsync") as node, node.connect() as client:
        create_topic(client, "t", segment_bytes="16384")
        assert produce(client, "t", batch(bytes(15_000))).error_code == E.NONE
        node.disk.fail("open", "/data/t-0/00000000000000000000.log", error=errno.EMFILE)
        threading.Timer(1.0, node.disk.heal).start()
        assert produce(client, "t", batch(bytes(15_000))).error_code == E.NONE
    assert sum("cannot be synced: too many open files" in line for line in broker_log.text) == 1
