"""What `tidelog cluster status --watch` shows: tables for a terminal, one line a turn for a pipe."""

import pytest

from tidelog.cli.cluster.health import Report
from tidelog.cli.cluster.live import GROUPS_SHOWN, LiveStatus, show_live
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.cluster.quorum import Member, Quorum
from tidelog.cli.cluster.view import Broker, ClusterView, Partition
from tidelog.clients.records import TopicPartition

PART = Partition(TopicPartition("t", 0), 1, (1, 2), (1,), ())
VIEW = ClusterView("c", 1, {1: Broker(1, "a", 1), 2: Broker(2, "b", 2)}, {PART.place: PART})
QUORUM = Quorum(
    1, 7, 90, (Member(1, True, bytes(16), 90, 0, 0, ()), Member(2, True, bytes(16), 80, 0, 0, ()))
)


def group(name: str, lag: int | None) -> dict[str, object]:
    return {"group": name, "state": "Stable", "members": 1, "lag": lag}


LIVE = LiveStatus(
    Report(VIEW, QUORUM, []),
    {1: Stored({PART.place: 2048}, free_bytes=1 << 30)},
    frozenset({2}),
    [group("g", 12)],
)


def test_a_pipe_gets_one_line() -> None:
    assert LIVE.line("12:00:00") == (
        "12:00:00 degraded brokers=2/2 controller=1 partitions=1 under_replicated=1 below_min_in_sync=0 "
        "offline=0 metadata_lag=10 group_lag=12"
    )
    bare = LiveStatus(Report(VIEW, None, []), {}, frozenset(), None)
    assert "controller=- " in bare.line("12:00:00")
    assert bare.line("12:00:00").endswith("metadata_lag=- group_lag=-")


def test_a_terminal_gets_brokers_and_groups(capsys: pytest.CaptureFixture[str]) -> None:
    show_live(LIVE)
    shown = capsys.readouterr().out
    assert "degraded" in shown
    [second] = [line for line in shown.splitlines() if "does not answer" in line]
    assert second.split()[-3:] == ["10", "-", "-"]
    assert "2.0 KiB" in shown or "2 KiB" in shown
    assert shown.splitlines()[-1].split() == ["g", "Stable", "1", "12"]


def test_the_groups_that_lag_most_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    groups = [group(f"g{number}", number) for number in range(GROUPS_SHOWN + 2)] + [group("unknown", None)]
    live = LiveStatus(LIVE.report, {}, frozenset(), groups)
    assert live.lag == sum(range(GROUPS_SHOWN + 2))
    assert live.as_json()["groups"][0]["group"] == f"g{GROUPS_SHOWN + 1}"
    show_live(live)
    assert "and 3 groups that lag less" in capsys.readouterr().out
