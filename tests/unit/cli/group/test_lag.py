"""How far a group is behind, whoever asks: by partition, topic, member, host or group."""

from tidelog.cli.group.lag import By, GroupInfo, GroupStanding, lag_rows, standing
from tidelog.clients.admin.results import GroupMember
from tidelog.clients.records import TopicPartition

A0, A1, B0, B1 = (TopicPartition(topic, number) for topic in "ab" for number in (0, 1))
FIRST = GroupMember("m-1", "app", "10.0.0.1", None, (A0, B0))
SECOND = GroupMember("m-2", "app", "10.0.0.1", "pod-2", (A1,))
IDLE = GroupMember("m-3", "app", "10.0.0.2", None, ())


def group(*members: GroupMember, committed: dict[TopicPartition, int] | None = None) -> GroupStanding:
    info = GroupInfo("g", "Stable", "Classic", "range", None, members)
    ends = {A0: 100, A1: 50, B0: 10}
    return standing(info, {A0: 90, A1: 50, B1: 3} if committed is None else committed, ends)


def rows(by: By, *members: GroupMember) -> list[dict[str, object]]:
    return lag_rows(group(*members), by)


def test_partitions_that_are_committed_or_owned_are_shown() -> None:
    shown = {
        (row["topic"], row["partition"]): (
            row["committed_offset"],
            row["end_offset"],
            row["lag"],
            row["host"],
        )
        for row in rows(By.PARTITION, FIRST, SECOND)
    }
    assert shown == {
        ("a", 0): (90, 100, 10, "10.0.0.1"),
        ("a", 1): (50, 50, 0, "10.0.0.1"),
        ("b", 0): (None, 10, None, "10.0.0.1"),  # owned, nothing committed
        ("b", 1): (3, None, None, None),  # committed, but gone
    }


def test_a_commit_that_overtook_the_end_is_no_negative_lag() -> None:
    [row] = lag_rows(group(committed={A1: 60}), By.PARTITION)
    assert row["lag"] == 0


def test_by_topic() -> None:
    assert rows(By.TOPIC, FIRST) == [
        {"group": "g", "topic": "a", "partitions": 2, "unknown": 0, "lag": 10},
        {"group": "g", "topic": "b", "partitions": 2, "unknown": 2, "lag": None},
    ]


def test_by_member_shows_the_idle_and_what_nobody_owns() -> None:
    shown = [
        (row["member_id"], row["instance_id"], row["partitions"], row["unknown"], row["lag"])
        for row in rows(By.MEMBER, FIRST, SECOND, IDLE)
    ]
    assert shown == [
        ("m-1", None, 2, 1, 10),
        ("m-2", "pod-2", 1, 0, 0),
        ("m-3", None, 0, 0, 0),
        (None, None, 1, 1, None),
    ]


def test_by_host() -> None:
    assert rows(By.HOST, FIRST, SECOND, IDLE) == [
        {"group": "g", "host": "10.0.0.1", "members": 2, "partitions": 3, "unknown": 1, "lag": 10},
        {"group": "g", "host": "10.0.0.2", "members": 1, "partitions": 0, "unknown": 0, "lag": 0},
        {"group": "g", "host": None, "members": 0, "partitions": 1, "unknown": 1, "lag": None},
    ]


def test_by_group() -> None:
    assert rows(By.GROUP, FIRST) == [
        {
            "group": "g",
            "state": "Stable",
            "type": "Classic",
            "members": 1,
            "partitions": 4,
            "unknown": 2,
            "lag": 10,
        }
    ]


def test_every_partition_is_counted_once_whatever_the_view() -> None:
    for by in (By.TOPIC, By.MEMBER, By.HOST, By.GROUP):
        shown = rows(by, FIRST, SECOND, IDLE)
        assert sum(int(str(row["partitions"])) for row in shown) == 4
        assert sum(int(str(row["lag"] or 0)) for row in shown) == 10
