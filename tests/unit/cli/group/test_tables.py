"""What people see of a group."""

import pytest

from tidelog.cli.group.lag import By, GroupInfo, GroupStanding, lag_rows, standing
from tidelog.cli.group.tables import COLUMNS, group_json, member_rows, show_group, show_lag, show_members
from tidelog.clients.admin.results import GroupMember, Node
from tidelog.clients.records import TopicPartition

PLACES = tuple(TopicPartition("orders", number) for number in range(3))


def member(number: int, *owned: TopicPartition, instance: str | None = None) -> GroupMember:
    return GroupMember(f"m-{number}", "app", f"10.0.0.{number}", instance, owned)


def group(*members: GroupMember, name: str = "billing", committed: int | None = 5) -> GroupStanding:
    info = GroupInfo(name, "Stable", "Classic", "range", Node(1, "broker-1", 9092), members)
    offsets = {} if committed is None else dict.fromkeys(PLACES, committed)
    return standing(info, offsets, dict.fromkeys(PLACES, 20_005))


def lines(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("by", list(By))
def test_every_column_has_its_value(by: By) -> None:
    for row in lag_rows(group(member(1, *PLACES)), by):
        assert COLUMNS[by].keys() <= row.keys()


def test_one_group_needs_no_column_for_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = group(member(1, *PLACES)), group(name="mail")
    show_lag(lag_rows(one, By.TOPIC), By.TOPIC)
    assert lines(capsys)[0][0] == "Topic"
    show_lag(lag_rows(one, By.TOPIC) + lag_rows(two, By.TOPIC), By.TOPIC)
    assert [line[0] for line in lines(capsys)] == ["Group", "billing", "mail"]
    show_lag(lag_rows(one, By.GROUP), By.GROUP)
    assert lines(capsys)[1] == ["billing", "Stable", "Classic", "1", "3", "0", "60,000"]


def test_instances_are_shown_where_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    show_lag(lag_rows(group(member(1, *PLACES)), By.MEMBER), By.MEMBER)
    assert "Instance" not in lines(capsys)[0]
    show_lag(lag_rows(group(member(1, *PLACES, instance="pod-1")), By.MEMBER), By.MEMBER)
    shown = lines(capsys)
    assert "Instance" in shown[0]
    assert "pod-1" in shown[1]


def test_members_with_what_they_own(capsys: pytest.CaptureFixture[str]) -> None:
    show_members([group(member(1, *PLACES[:2]), member(2))])
    assert lines(capsys) == [
        ["Member", "Client", "Host", "Partitions", "Lag", "Assignment"],
        ["m-1", "app", "10.0.0.1", "2", "40,000", "orders[0-1]"],
        ["m-2", "app", "10.0.0.2", "0", "0", "-"],
    ]


def test_a_member_on_its_way_shows_where_to(capsys: pytest.CaptureFixture[str]) -> None:
    moving = GroupMember("m-1", "app", "10.0.0.1", None, PLACES[:1], PLACES[1:])
    show_members([group(moving)])
    shown = lines(capsys)
    assert shown[0][-2:] == ["Assignment", "Target"]
    assert shown[1][-2:] == ["orders[0]", "orders[1-2]"]


def test_the_description(capsys: pytest.CaptureFixture[str]) -> None:
    show_group(group(member(1, *PLACES)))
    out = capsys.readouterr().out.splitlines()
    assert out[0] == (
        "billing  Stable, classic, assignor range, 1 member, lag 60,000, coordinator 1 at broker-1:9092"
    )
    assert out[2].split() == ["orders", "0", "5", "20,005", "20,000", "m-1", "app", "10.0.0.1"]
    assert len(out) == 5


def test_a_group_without_offsets(capsys: pytest.CaptureFixture[str]) -> None:
    show_group(group(name="[odd]", committed=None))
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("[odd]  Stable, classic, assignor range, 0 members, lag 0, ")
    assert out[1] == "The group has no committed offsets and no members."


def test_the_json() -> None:
    shown = group_json(group(member(1, PLACES[0])))
    assert shown["coordinator"] == {"id": 1, "host": "broker-1", "port": 9092}
    assert shown["lag"] == 60_000
    assert [part["member_id"] for part in shown["partitions"]] == ["m-1", None, None]
    assert shown["members"] == member_rows(group(member(1, PLACES[0])))
    assert shown["members"][0]["assignment"] == [{"topic": "orders", "partition": 0}]


def test_a_group_that_nobody_is_in_spares_the_columns_of_members(capsys: pytest.CaptureFixture[str]) -> None:
    show_lag(lag_rows(group(), By.PARTITION), By.PARTITION)
    assert lines(capsys)[0] == ["Topic", "Partition", "Committed", "End", "Lag"]
    show_lag(lag_rows(group(), By.HOST), By.HOST)
    assert lines(capsys)[:2] == [
        ["Host", "Members", "Partitions", "Unknown", "Lag"],
        ["-", "0", "3", "0", "60,000"],
    ]
