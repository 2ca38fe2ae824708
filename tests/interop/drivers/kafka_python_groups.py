"""What kafka-python's admin client can do with groups."""

from collections.abc import Iterable, Mapping
from typing import Any

import kafka.errors
from kafka import KafkaAdminClient, OffsetAndMetadata, TopicPartition

from tests.interop.driver import GroupInfo, MemberInfo, Place, Refused
from tests.interop.group_member import Committed


class Groups:
    _admin: KafkaAdminClient

    def list_groups(self) -> dict[str, str | None]:
        return {one["group_id"]: one["group_state"].lower() for one in self._ask("list_groups")}

    def describe_group(self, group: str) -> GroupInfo:
        found = self._ask("describe_groups", [group])[group]
        if found["error"]:
            raise Refused(kafka.errors.GroupIdNotFoundError.errno, found["error"])
        members = [
            MemberInfo(
                member["client_id"],
                member["client_host"],
                member["group_instance_id"],
                {
                    (topic["topic"], partition)
                    for topic in (member["member_assignment"] or {}).get("assigned_partitions", ())
                    for partition in topic["partitions"]
                },
            )
            for member in found["members"]
        ]
        return GroupInfo(found["group_state"].lower(), found["protocol_data"], members)

    def delete_group(self, group: str) -> None:
        for answer in self._ask("delete_groups", [group]).values():
            check(answer)

    def group_offsets(self, group: str) -> dict[Place, Committed]:
        found = self._ask("list_group_offsets", group)[group]
        return {tuple(place): Committed(one.offset, one.metadata) for place, one in found.items()}

    def alter_group_offsets(self, group: str, offsets: Mapping[Place, Committed]) -> None:
        named = {
            TopicPartition(*place): OffsetAndMetadata(offset, metadata, -1)
            for place, (offset, metadata) in offsets.items()
        }
        for answer in self._ask("alter_group_offsets", group, named).values():
            check(answer)

    def delete_group_offsets(self, group: str, places: Iterable[Place]) -> None:
        named = [TopicPartition(*place) for place in places]
        for answer in self._ask("delete_group_offsets", group, named).values():
            check(answer)

    def _ask(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._admin, method)(*arguments)
        except kafka.errors.KafkaError as failure:
            raise Refused(getattr(failure, "errno", -1), failure) from failure


def check(answer: Any) -> None:
    """Answers per item are classes of errors, or text with such a name in front."""
    if isinstance(answer, str) and answer != "OK":
        named = getattr(kafka.errors, answer.split("(")[0].split("]")[-1].strip(" :"), None)
        raise Refused(getattr(named, "errno", -1), answer)
    if isinstance(answer, type) and answer.errno:
        raise Refused(answer.errno, answer)
