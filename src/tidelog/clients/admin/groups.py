"""Consumer groups: list, describe, their offsets, delete."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, ConsumerGroupType
from confluent_kafka.admin import AdminClient

from tidelog.clients.admin.results import (
    GroupDescription,
    GroupListing,
    GroupMember,
    GroupState,
    GroupType,
)
from tidelog.clients.admin.session import AdminSession, node_of
from tidelog.clients.error_table import as_client_error, from_exception
from tidelog.clients.errors import UnknownGroup
from tidelog.clients.places import all_to_librdkafka, from_librdkafka, to_librdkafka
from tidelog.clients.records import OffsetAndMetadata, TopicPartition

STATES: dict[ConsumerGroupState | None, GroupState] = {
    ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
    ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
    ConsumerGroupState.STABLE: GroupState.STABLE,
    ConsumerGroupState.DEAD: GroupState.DEAD,
    ConsumerGroupState.EMPTY: GroupState.EMPTY,
}
TYPES: dict[ConsumerGroupType | None, GroupType] = {
    ConsumerGroupType.CLASSIC: GroupType.CLASSIC,
    ConsumerGroupType.CONSUMER: GroupType.CONSUMER,
}


class GroupAdmin(AdminSession):
    """Consumer groups, and what they have committed."""

    def list_groups(
        self, *, states: Iterable[GroupState] = (), types: Iterable[GroupType] = ()
    ) -> list[GroupListing]:
        """Every consumer group, sorted by name.

        Args:
            states: Only groups in one of these states.
            types: Only groups of one of these types.
        """
        filters: dict[str, Any] = {}
        if wanted := {state for state, ours in STATES.items() if ours in set(states)}:
            filters["states"] = wanted
        if kinds := {kind for kind, ours in TYPES.items() if ours in set(types)}:
            filters["types"] = kinds
        found = self._one("Listing groups", AdminClient.list_consumer_groups, **filters)
        if found.errors:  # a broker that did not answer hides its groups: better no list than half of it
            raise from_exception(found.errors[0], "Listing groups")
        groups = (
            GroupListing(
                group.group_id,
                _state(group),
                _type(group),
                bool(group.is_simple_consumer_group),
            )
            for group in found.valid
        )
        return sorted(groups, key=lambda group: group.group_id)

    def describe_group(self, group_id: str) -> GroupDescription:
        """The members of a group, what they read, and the broker that looks after them.

        Args:
            group_id: The group.

        Raises:
            UnknownGroup: There is no such group.
        """
        return self.describe_groups(group_id)[group_id]

    def describe_groups(self, *group_ids: str) -> dict[str, GroupDescription]:
        """The same for several groups, by name.

        Args:
            group_ids: The groups.

        Raises:
            UnknownGroup: One of them does not exist.
        """
        answers = self._all("Describing group", AdminClient.describe_consumer_groups, list(group_ids))
        described = {group_id: _group(answer) for group_id, answer in answers.items()}
        for group_id, group in described.items():
            if group.state is GroupState.DEAD and not group.members:  # how Kafka describes what is not there
                raise UnknownGroup(f"There is no group {group_id!r}.")
        return described

    def group_offsets(
        self, group_id: str, places: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group has committed.

        Args:
            group_id: The group.
            places: Partitions to ask for. None: all in which it has committed something.

        Returns:
            The next offset to read in each partition. Partitions without a commit are left out.
        """
        wanted = None if places is None else all_to_librdkafka(places)
        request = [ConsumerGroupTopicPartitions(group_id, wanted)]
        [found] = self._all(
            "Asking for the offsets of group", AdminClient.list_consumer_group_offsets, request
        ).values()
        offsets = _checked(found.topic_partitions, f"The offset of group {group_id!r} in")
        return {
            TopicPartition(at.topic, at.partition): OffsetAndMetadata(at.offset, at.metadata or "")
            for at in offsets
            if at.offset >= 0
        }

    def set_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]
    ) -> None:
        """Move a group that has no members now, to read again or to pass something over.

        Example:
            from tidelog import Admin, AdminConfig, TopicPartition

            with Admin(AdminConfig(bootstrap_servers=["localhost:9092"])) as admin:
                admin.create_topic("orders", if_not_exists=True)
                admin.set_group_offsets("replay", {TopicPartition("orders", 0): 0})
                print(admin.group_offsets("replay"))

        Args:
            group_id: The group.
            offsets: The next offset to read in each partition.

        Raises:
            GroupError: The group has members.
        UnknownTopic: One of the partitions does not exist.
        """
        places = [to_librdkafka(place, position) for place, position in offsets.items()]
        request = [ConsumerGroupTopicPartitions(group_id, places)]
        [found] = self._all(
            "Setting the offsets of group", AdminClient.alter_consumer_group_offsets, request
        ).values()
        _checked(found.topic_partitions, f"Setting the offset of group {group_id!r} in")

    def delete_groups(self, *group_ids: str) -> None:
        """Delete groups without members, with all that they have committed.

        Args:
            group_ids: The groups.

        Raises:
            GroupNotEmpty: A group has members; stop its consumers first.
            UnknownGroup: There is no such group.
        """
        self._all("Deleting group", AdminClient.delete_consumer_groups, list(group_ids))


def _checked(places: list[Any], what: str) -> list[Any]:
    for place in places:
        if place.error is not None:
            raise as_client_error(place.error, f"{what} {place.topic}[{place.partition}]")
    return places


def _state(group: Any) -> GroupState:
    return STATES.get(getattr(group, "state", None), GroupState.UNKNOWN)


def _type(group: Any) -> GroupType:
    return TYPES.get(getattr(group, "type", None), GroupType.UNKNOWN)


def _group(found: Any) -> GroupDescription:
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.host.lstrip("/"),
            member.group_instance_id,
            tuple(sorted(from_librdkafka(member.assignment.topic_partitions))),
            _target(member),
        )
        for member in found.members
    )
    return GroupDescription(
        found.group_id,
        _state(found),
        _type(found),
        found.partition_assignor,
        node_of(found.coordinator),
        tuple(sorted(members, key=lambda member: member.member_id)),
    )


def _target(member: Any) -> tuple[TopicPartition, ...]:
    target = getattr(member, "target_assignment", None)
    return tuple(sorted(from_librdkafka(target.topic_partitions))) if target is not None else ()
