"""How far a group is behind: per partition, topic, member, host, or as a whole. Pure.

A lag is unknown where nothing is committed or where the partition is gone; unknown is not zero.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from tidelog.clients.admin.results import GroupMember, Node
from tidelog.clients.records import TopicPartition

Item = TypeVar("Item")
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class GroupInfo:
    name: str
    state: str  # as Kafka writes it: Stable, Empty, PreparingRebalance, …
    type: str
    assignor: str
    coordinator: Node | None
    members: tuple[GroupMember, ...]


@dataclass(frozen=True, slots=True)
class PartitionLag:
    place: TopicPartition
    committed: int | None
    end: int | None
    owner: GroupMember | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)  # a commit may overtake an end that was asked for before


@dataclass(frozen=True, slots=True)
class GroupStanding:
    """A group, and where it stands in every partition that it has committed or owns."""

    info: GroupInfo
    partitions: tuple[PartitionLag, ...]


def standing(
    info: GroupInfo, committed: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> GroupStanding:
    owners = {place: member for member in info.members for place in member.assignment}
    places = sorted(committed.keys() | owners.keys())
    return GroupStanding(
        info,
        tuple(
            PartitionLag(place, committed.get(place), ends.get(place), owners.get(place)) for place in places
        ),
    )


class By(Enum):
    """What one row of a lag table stands for."""

    GROUP = "group"
    TOPIC = "topic"
    PARTITION = "partition"
    MEMBER = "member"
    HOST = "host"


Row = dict[str, Any]


def lag_rows(group: GroupStanding, by: By) -> list[Row]:
    match by:
        case By.GROUP:
            return [_group_row(group)]
        case By.TOPIC:
            return _rows_by_topic(group)
        case By.PARTITION:
            return [_partition_row(group, part) for part in group.partitions]
        case By.MEMBER:
            return _rows_by_member(group)
        case By.HOST:
            return _rows_by_host(group)


def total(parts: Iterable[PartitionLag]) -> Row:
    """`lag` sums what is known; None where nothing is."""
    parts = list(parts)
    known = [part.lag for part in parts if part.lag is not None]
    return {
        "partitions": len(parts),
        "unknown": len(parts) - len(known),
        "lag": sum(known) if known or not parts else None,
    }


def _group_row(group: GroupStanding) -> Row:
    info = group.info
    row = {"group": info.name, "state": info.state, "type": info.type, "members": len(info.members)}
    return row | total(group.partitions)


def _partition_row(group: GroupStanding, part: PartitionLag) -> Row:
    row = {
        "group": group.info.name,
        "topic": part.place.topic,
        "partition": part.place.partition,
        "committed_offset": part.committed,
        "end_offset": part.end,
        "lag": part.lag,
    }
    return row | _member_facts(part.owner)


def _rows_by_topic(group: GroupStanding) -> list[Row]:
    parts = _gathered(group.partitions, lambda part: part.place.topic)
    return [{"group": group.info.name, "topic": topic} | total(its) for topic, its in parts.items()]


def _rows_by_member(group: GroupStanding) -> list[Row]:
    """Every member, idle members too; partitions without an owner come last."""
    parts = _gathered(group.partitions, lambda part: part.owner)
    owners: list[GroupMember | None] = [*group.info.members, *([None] if None in parts else [])]
    return [
        {"group": group.info.name} | _member_facts(owner) | total(parts.get(owner, ())) for owner in owners
    ]


def _rows_by_host(group: GroupStanding) -> list[Row]:
    members = _gathered(group.info.members, lambda member: member.host)
    parts = _gathered(group.partitions, lambda part: part.owner.host if part.owner else None)
    hosts: list[str | None] = [*sorted(members), *([None] if None in parts else [])]
    return [
        {"group": group.info.name, "host": host, "members": len(members.get(host or "", ()))}
        | total(parts.get(host, ()))
        for host in hosts
    ]


def _member_facts(member: GroupMember | None) -> Row:
    return {
        "member_id": member.member_id if member else None,
        "instance_id": member.instance_id if member else None,
        "client_id": member.client_id if member else None,
        "host": member.host if member else None,
    }


def _gathered(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    gathered: dict[Key, list[Item]] = {}
    for item in items:
        gathered.setdefault(key(item), []).append(item)
    return gathered
