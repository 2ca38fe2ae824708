"""The broker stops or dies under a group of all clients: they come back, and no committed offset is lost."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.broker_process import BrokerProcess, free_port
from tests.interop.driver import Place, Refused
from tests.interop.drivers import confluent, kafka_python
from tests.interop.group_member import Committed, Writer, check_order, wait_until_read, wait_until_shared
from tests.interop.waiting import eventually

NAMES = [name for name, client in CLIENTS.items() if "range" in client.driver.assignors]
PARTITIONS = 2 * len(NAMES)


class Restartable(Protocol):
    address: str

    def restart(self, how: str) -> None: ...

    def stop(self) -> None: ...


class RestartableTidelog:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self._process = BrokerProcess.start(directory, self._port)
        self.address = self._process.address

    def restart(self, how: str) -> None:
        getattr(self._process, how)()
        self._process = BrokerProcess.start(self._directory, self._port)

    def stop(self) -> None:
        self._process.stop()


class RestartableKafka:
    def __init__(self, directory: Path) -> None:
        self._kafka = ApacheKafka(free_port(), directory)
        self.address = self._kafka.bootstrap

    def restart(self, how: str) -> None:
        if how == "kill":
            self._kafka.process.kill()
            self._kafka.process.wait()
        else:
            self._kafka.stop()
        self._kafka.start()

    def stop(self) -> None:
        self._kafka.stop()


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[Restartable]:
    """Of the same kind as the one that the other tests use."""
    kind = RestartableKafka if "TIDELOG_INTEROP_BOOTSTRAP" in os.environ else RestartableTidelog
    running = kind(tmp_path)
    yield running
    running.stop()


def commit_until_the_end(address: str, group: str, place: Place) -> int:
    """Commit one offset after the other until the broker is gone; the last one that it acknowledged."""
    client = kafka_python.Driver(address)
    acknowledged = 0
    try:
        while True:
            client.alter_group_offsets(group, {place: Committed(acknowledged + 1)})
            acknowledged += 1
    except Refused:
        return acknowledged
    finally:
        client.close()


def wait_until_it_commits(witness: Any, group: str) -> None:
    eventually(lambda: any(one.offset > 20 for one in witness.group_offsets(group).values()))


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_members_and_offsets_outlive_the_broker(
    own_broker: Restartable, open_client: Callable[[str], Any], opened: list[Any], how: str
) -> None:
    topic = group = "outlived"
    reference, witness = confluent.Driver(own_broker.address), kafka_python.Driver(own_broker.address)
    reference.create_topic(topic, PARTITIONS)
    eventually(lambda: len(reference.describe_topic(topic)) == PARTITIONS)
    writer = Writer(reference, topic, PARTITIONS)
    writer.write()
    beside = {(topic, index): Committed(index, f"words of {index}") for index in range(PARTITIONS)}
    # The coordinator of a new cluster takes a moment to be there.
    eventually(lambda: witness.alter_group_offsets("beside", beside) is None)
    # Members that come back under a new name are missed for the length of a session under the old one.
    options = {"bootstrap": own_broker.address, "session_timeout_ms": 6_000}
    opened += [open_client(name).join_group(group, topic, **options) for name in NAMES]
    wait_until_shared(opened, PARTITIONS)
    wait_until_read(opened, writer.written)
    committed = witness.group_offsets(group)
    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(commit_until_the_end, own_broker.address, "busy", (topic, 0))
        wait_until_it_commits(witness, "busy")
        # In the middle of commits, and of a rebalance.
        opened.append(open_client("confluent").join_group(group, topic, **options))
        own_broker.restart(how)
        acknowledged = committing.result()
    eventually(lambda: witness.group_offsets("beside") == beside)
    assert witness.group_offsets("busy")[topic, 0].offset >= acknowledged > 0
    found = witness.group_offsets(group)
    assert all(found[place].offset >= one.offset for place, one in committed.items())
    before = {place: one.offset for place, one in found.items()}
    wait_until_shared(opened, PARTITIONS)
    again = writer.write()
    wait_until_read(opened, again)
    ends = dict.fromkeys(before, len(writer.written) // PARTITIONS)
    eventually(lambda: {place: one.offset for place, one in witness.group_offsets(group).items()} == ends)
    for member in opened:
        member.close()
    check_order(opened)
    reference.close()
    witness.close()
