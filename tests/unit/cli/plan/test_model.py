"""From a load to machines: which resource decides, and what a plan keeps room for."""

from dataclasses import replace

import pytest

from tidelog.cli.plan.coefficients import (
    BROKER_BYTES,
    CONNECTION_BYTES,
    PARTITION_BYTES,
    REPLICAS_MAX,
    Cost,
)
from tidelog.cli.plan.load import Load
from tidelog.cli.plan.model import plan
from tidelog.cli.plan.needs import BUSY_MAX, FULL_MAX, needs_of

SMALL = Load(messages_per_second=1000, message_bytes=1000, retention_s=86_400)
DAY_BYTES = 86_400 * 1e6


def test_a_small_load_needs_as_many_brokers_as_replicas() -> None:
    found = plan(SMALL)
    assert (found.brokers, found.limit, found.partitions) == (3, "replication", 3)
    assert found.stored_bytes == pytest.approx(3 * DAY_BYTES, rel=0.01)
    assert found.disk_bytes * 3 * FULL_MAX == pytest.approx(found.stored_bytes)
    assert plan(replace(SMALL, replication=1)).brokers == 1


def test_the_disk_decides_without_a_spare_broker() -> None:
    found = plan(replace(SMALL, disk_bytes=3 * DAY_BYTES / FULL_MAX / 9.5))
    assert (found.brokers, found.limit) == (10, "disk")


def test_cpu_decides_and_one_broker_may_be_away() -> None:
    found = plan(replace(SMALL, messages_per_second=300_000))
    assert found.limit == "CPU"
    assert found.cores / (found.brokers - 1) <= BUSY_MAX
    assert found.partitions % found.brokers == 0


def test_the_network_decides() -> None:
    found = plan(replace(SMALL, messages_per_second=50_000, network_bytes_per_second=1e6 / 8))
    assert found.limit == "network"
    assert max(found.network_in, found.network_out) <= 1e6 / 8 * BUSY_MAX


def test_many_partitions_decide() -> None:
    found = plan(replace(SMALL, partitions=10 * REPLICAS_MAX))
    assert (found.limit, found.brokers, found.partitions) == ("replicas", 31, 10 * REPLICAS_MAX)
    assert found.replicas_per_broker <= REPLICAS_MAX


@pytest.mark.parametrize(
    "dearer",
    [
        {"tls": True},
        {"batch_bytes": 1024},
        {"groups": 5},
        {"peak": 4.0},
        {"replication": 5},
        {"messages_per_second": 2000},
    ],
)
def test_what_takes_more_cpu(dearer: dict[str, float]) -> None:
    assert plan(replace(SMALL, **dearer)).cores > plan(SMALL).cores  # type: ignore[arg-type]


@pytest.mark.parametrize("cheaper", [{"durability": "os"}, {"compression": 3.0}, {"groups": 0}])
def test_what_takes_less_cpu(cheaper: dict[str, float]) -> None:
    assert plan(replace(SMALL, **cheaper)).cores < plan(SMALL).cores  # type: ignore[arg-type]


def test_every_consumer_of_a_group_has_a_partition() -> None:
    assert plan(replace(SMALL, members=50)).partitions == 51  # the next multiple of three brokers


def test_a_cost_is_requests_and_kib() -> None:
    assert Cost(10.0, 2.0).cores(1000, 1024 * 500) == pytest.approx(0.011)


def test_a_machine_with_cores_has_a_broker_for_each() -> None:
    given = replace(SMALL, messages_per_second=3_000_000, network_bytes_per_second=1e12)
    found = plan(replace(given, cores=16))
    assert found.limit == "CPU"
    assert found.brokers == found.machines * 16
    assert found.partitions % found.brokers == 0
    assert found.cores / (found.machines - 1) / 16 <= BUSY_MAX
    alone = plan(given)
    assert alone.machines > found.machines * 8


def test_disk_and_network_are_those_of_a_machine() -> None:
    given = replace(SMALL, messages_per_second=50_000, network_bytes_per_second=1e6, disk_bytes=1e12)
    one, many = plan(given), plan(replace(given, cores=8))
    assert (one.limit, many.limit) == ("network", "network")
    assert one.machines == many.machines


def test_partitions_count_for_each_core() -> None:
    found = plan(replace(SMALL, partitions=10 * REPLICAS_MAX, cores=8))
    assert (found.limit, found.machines) == ("replicas", 5)
    assert found.replicas_per_broker <= REPLICAS_MAX


@pytest.mark.parametrize("cores", [1, 4, 16, 64])
@pytest.mark.parametrize("rate", [1e5, 1e6, 1e7])
def test_the_plan_is_enough_and_no_smaller_one_is(rate: float, cores: int) -> None:
    load = replace(SMALL, messages_per_second=rate, cores=cores, network_bytes_per_second=1e12)
    enough = [all(need.whole <= n for need in needs_of(load, n)) for n in range(1, plan(load).machines + 1)]
    assert enough == [False] * (len(enough) - 1) + [True]


@pytest.mark.parametrize("cores", [1, 16])
def test_no_load_is_without_a_plan(cores: int) -> None:
    found = plan(replace(SMALL, messages_per_second=1e15, message_bytes=1e9, members=100_000, cores=cores))
    assert any("at most 1,000" in note for note in found.notes)


def test_the_memory_of_a_machine_is_that_of_its_brokers_their_connections_and_replicas() -> None:
    idle = replace(SMALL, partitions=2000, connections=0)
    one, many = plan(idle), plan(replace(idle, cores=16))
    assert one.machines == many.machines == 3
    replicas = 2000 * PARTITION_BYTES
    assert many.process_bytes > 16 * BROKER_BYTES + replicas
    more = plan(replace(idle, cores=16, connections=1000)).process_bytes - many.process_bytes
    assert more == pytest.approx(16 * 1000 * CONNECTION_BYTES["plain"])
    assert one.process_bytes < BROKER_BYTES + replicas + 10e6
