"""The part of a driver about share groups and their offsets."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.interop.driver import Place


class ShareGroupMember(NamedTuple):
    client_id: str
    host: str
    partitions: set[Place]


class ShareGroupInfo(NamedTuple):
    state: str
    members: list[ShareGroupMember]
    coordinator: int


class ListedGroup(NamedTuple):
    type: str
    protocol: str
    state: str


class ShareOffset(NamedTuple):
    start: int | None
    lag: int | None


class ShareAdmin:
    _agent: Any

    def list_typed_groups(self, *types: str) -> dict[str, ListedGroup]:
        answer = self._agent.ask("list_typed_groups", types=types)
        return {group: ListedGroup(*fields) for group, *fields in answer}

    def describe_share_group(self, group: str) -> ShareGroupInfo:
        found = self._agent.ask("describe_share_group", group=group)
        members = [
            ShareGroupMember(client_id, host, {(topic, index) for topic, index in places})
            for client_id, host, places in found["members"]
        ]
        return ShareGroupInfo(found["state"], members, found["coordinator"])

    def share_offsets(self, group: str) -> dict[Place, ShareOffset]:
        answer = self._agent.ask("share_offsets", group=group)
        return {(topic, index): ShareOffset(*fields) for topic, index, *fields in answer}

    def alter_share_offsets(self, group: str, offsets: Mapping[Place, int]) -> None:
        places = [[*place, offset] for place, offset in offsets.items()]
        self._agent.ask("alter_share_offsets", group=group, places=places)

    def delete_share_offsets(self, group: str, topics: Iterable[str]) -> None:
        self._agent.ask("delete_share_offsets", group=group, topics=list(topics))

    def delete_share_group(self, group: str) -> None:
        self._agent.ask("delete_share_group", group=group)
