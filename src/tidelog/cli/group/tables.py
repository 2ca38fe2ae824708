"""What the group commands show: the same rows as JSON for programs and as tables for people."""

from collections.abc import Sequence
from typing import Any

from tidelog.cli.group.lag import By, GroupStanding, Row, lag_rows, total
from tidelog.cli.group.share import is_share
from tidelog.cli.output import print_table, say
from tidelog.cli.partition_choice import places_text
from tidelog.clients.admin.results import GroupMember

_SUM = {"partitions": ">Partitions", "unknown": ">Unknown", "lag": ">Lag"}
COLUMNS: dict[By, dict[str, str]] = {
    By.GROUP: {"state": "State", "type": "Type", "members": ">Members", **_SUM},
    By.TOPIC: {"topic": "Topic", **_SUM},
    By.PARTITION: {
        "topic": "Topic",
        "partition": ">Partition",
        "committed_offset": ">Committed",
        "end_offset": ">End",
        "lag": ">Lag",
        "member_id": "Member",
        "instance_id": "Instance",
        "client_id": "Client",
        "host": "Host",
    },
    By.MEMBER: {
        "member_id": "Member",
        "instance_id": "Instance",
        "client_id": "Client",
        "host": "Host",
        **_SUM,
    },
    By.HOST: {"host": "Host", "members": ">Members", **_SUM},
}
# Columns that are shown only where some row fills them, to spare a narrow screen; but never the first one.
OPTIONAL = ("member_id", "instance_id", "client_id", "host")


def show_rows(rows: Sequence[Row], columns: dict[str, str]) -> None:
    first = next(iter(columns))
    shown = {
        name: title
        for name, title in columns.items()
        if name == first or name not in OPTIONAL or any(row[name] is not None for row in rows)
    }
    print_table(list(shown.values()), [[row[name] for name in shown] for row in rows])


def show_lag(rows: Sequence[Row], by: By) -> None:
    """The group's name is a column only where the rows are of several groups, or are the groups."""
    several = by is By.GROUP or len({row["group"] for row in rows}) > 1
    show_rows(rows, ({"group": "Group"} if several else {}) | COLUMNS[by])


def member_rows(group: GroupStanding) -> list[Row]:
    """Each member with what it owns, and how far it is behind there."""
    lags = {row["member_id"]: row for row in lag_rows(group, By.MEMBER)}
    return [
        {
            "group": group.info.name,
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.host,
            "lag": None if is_share(group.info) else lags[member.member_id]["lag"],
            "assignment": _places_json(member.assignment),
            "target_assignment": _places_json(member.target_assignment),
        }
        for member in group.info.members
    ]


def show_members(groups: Sequence[GroupStanding]) -> None:
    rows = [
        row
        | {
            "partitions": len(member.assignment),
            "owns": places_text(member.assignment) or None,
            "heads_for": _target_text(member),
        }
        for group in groups
        for row, member in zip(member_rows(group), group.info.members, strict=True)
    ]
    columns = {**COLUMNS[By.MEMBER], "owns": "Assignment", "heads_for": "Target"}
    del columns["unknown"]
    if not any(row["heads_for"] for row in rows):
        del columns["heads_for"]
    show_rows(rows, ({"group": "Group"} if len(groups) > 1 else {}) | columns)


def _target_text(member: GroupMember) -> str | None:
    """Where a member of the new protocol is heading, while it is not there yet."""
    if not member.target_assignment or member.target_assignment == member.assignment:
        return None
    return places_text(member.target_assignment)


def group_json(group: GroupStanding) -> dict[str, Any]:
    info, node = group.info, group.info.coordinator
    return {
        "group": info.name,
        "state": info.state,
        "type": info.type,
        "assignor": info.assignor or None,
        "coordinator": {"id": node.id, "host": node.host, "port": node.port} if node else None,
        "lag": None if is_share(info) else total(group.partitions)["lag"],
        "members": member_rows(group),
        "partitions": lag_rows(group, By.PARTITION),
    }


def show_group(group: GroupStanding) -> None:
    from rich.markup import escape

    info = group.info
    facts = [info.state, info.type.lower()]
    if info.assignor:
        facts.append(f"assignor {info.assignor}")
    facts.append(f"{len(info.members)} member{'s' if len(info.members) != 1 else ''}")
    if not is_share(info) and (lag := total(group.partitions)["lag"]) is not None:
        facts.append(f"lag {lag:,}")
    if info.coordinator:
        facts.append(f"coordinator {info.coordinator.id} at {info.coordinator.host}:{info.coordinator.port}")
    say(f"[bold]{escape(info.name)}[/]  {escape(', '.join(facts))}")
    if group.partitions:
        show_rows(lag_rows(group, By.PARTITION), COLUMNS[By.PARTITION])
    elif is_share(info):
        print(f"A share group: `tidelog queue describe {info.name}` shows its partitions and their records.")
    else:
        print("The group has no committed offsets and no members.")


def _places_json(places: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in places]
