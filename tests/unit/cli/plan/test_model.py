"""From a load to brokers: which resource decides, and what a plan keeps room for."""

from dataclasses import replace

import pytest

from tidelog.cli.plan.coefficients import REPLICAS_MAX, Cost
from tidelog.cli.plan.model import BUSY_MAX, FULL_MAX, Load, Plan, plan

SMALL = Load(messages_per_second=1000, message_bytes=1000, retention_s=86_400)
DAY_BYTES = 86_400 * 1e6


def needs(found: Plan) -> dict[str, float]:
    return {need.resource: need.brokers for need in found.needs}


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
