"""Each client library on a machine with a broker for each of two cores: it knows one address, and no more."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.driver import EARLIEST, Record, contents
from tests.interop.fleet_process import FleetProcess
from tests.interop.group_member import Writer, wait_until_read, wait_until_shared
from tests.interop.waiting import eventually
from tidelog.server.free_ports import free_ports

pytestmark = pytest.mark.timeout(180)
PARTITIONS = 4


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    [port] = free_ports("localhost", 1, in_a_row=2)
    machine = FleetProcess(tmp_path_factory.mktemp("machine"), "--cores", "2", "--port", str(port))
    yield machine.servers
    assert machine.stop() == 0


@pytest.fixture(scope="module")
def librdkafka(servers: str) -> Iterator[Any]:
    with closing(CLIENTS["confluent"].driver(servers)) as driver:
        yield driver


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_writes_reads_and_shares_a_group(
    servers: str, librdkafka: Any, opened: list[Any], name: str
) -> None:
    if (missing := CLIENTS[name].missing_tool) is not None:
        pytest.skip(missing)
    librdkafka.create_topic(name, PARTITIONS)
    eventually(lambda: len(librdkafka.describe_topic(name)) == PARTITIONS)
    assert {part.leader for part in librdkafka.describe_topic(name).values()} == {1, 1001}
    records = [Record(b"key", f"{number}".encode(), partition=number % PARTITIONS) for number in range(40)]
    with closing(CLIENTS[name].driver(servers)) as client:
        client.produce(name, records[:20], acks="all")
        librdkafka.produce(name, records[20:])
        for reader in (
            (client, librdkafka) if hasattr(client, "consume") else (librdkafka,)
        ):  # KafkaJS reads in groups
            for partition in range(PARTITIONS):
                assert contents(reader.consume(name, EARLIEST, 10, (partition,))) == contents(
                    records[partition::PARTITIONS]
                )
        opened.append(librdkafka.join_group(name, name, assignor="range"))
        opened.append(client.join_group(name, name, assignor="range"))
        wait_until_shared(opened, PARTITIONS)
        writer = Writer(librdkafka, name, PARTITIONS)
        writer.write()
        wait_until_read(opened, writer.written)
        while opened:
            opened.pop().close()
