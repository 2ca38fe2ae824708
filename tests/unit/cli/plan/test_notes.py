"""What more machines do not help, and where measurements end."""

from dataclasses import replace

import pytest

from tidelog.cli.plan.coefficients import CONNECTIONS_MEASURED, PARTITIONS_MEASURED
from tidelog.cli.plan.load import Load
from tidelog.cli.plan.notes import BROKERS_MAX, notes_on

LOAD = Load(messages_per_second=1000, message_bytes=1000, retention_s=86_400)


def test_a_plan_within_all_limits_has_none() -> None:
    assert list(notes_on(LOAD, 48)) == []


@pytest.mark.parametrize(
    ("changed", "brokers", "said"),
    [
        ({"partitions": 10}, 48, "the other 38 cores take no writes"),
        ({"partitions": 48}, 48, None),
        ({"messages_per_second": 100_000, "partitions": 6}, 6, "a partition takes 33 MB/s"),
        ({"messages_per_second": 100_000, "partitions": 12}, 6, None),
        ({"partitions": PARTITIONS_MEASURED + 1}, 48, "failover was measured with 10,000"),
        ({"partitions": PARTITIONS_MEASURED}, 48, None),
        ({"connections": CONNECTIONS_MEASURED + 1}, 3, "measured with 10,000"),
        ({"connections": CONNECTIONS_MEASURED}, 3, None),
    ],
)
def test_where_a_limit_is_met(changed: dict[str, int], brokers: int, said: str | None) -> None:
    notes = list(notes_on(replace(LOAD, **changed), brokers))  # type: ignore[arg-type]
    assert [said in note for note in notes] == [True] if said else notes == []


def test_a_cluster_has_so_many_brokers() -> None:
    assert not any("at most" in note for note in notes_on(LOAD, BROKERS_MAX))
    assert any("at most 1,000" in note for note in notes_on(LOAD, BROKERS_MAX + 1))
