"""What confluent-kafka's admin client can do with groups."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.interop.driver import PATIENCE_S, GroupInfo, MemberInfo, Place, Refused
from tests.interop.group_member import Committed


class Groups:
    _admin: AdminClient

    def list_groups(self) -> dict[str, str | None]:
        found = self._admin.list_consumer_groups().result(PATIENCE_S)
        return {group.group_id: group.state.name.lower() for group in found.valid}

    def describe_group(self, group: str) -> GroupInfo:
        found = answer_of(self._admin.describe_consumer_groups([group]))
        members = [
            MemberInfo(
                member.client_id,
                member.host,
                member.group_instance_id,
                {(place.topic, place.partition) for place in member.assignment.topic_partitions},
            )
            for member in found.members
        ]
        return GroupInfo(found.state.name.lower(), found.partition_assignor, members)

    def delete_group(self, group: str) -> None:
        answer_of(self._admin.delete_consumer_groups([group]))

    def group_offsets(self, group: str) -> dict[Place, Committed]:
        """Without metadata: what confluent-kafka shows goes on with whatever follows it in memory."""
        found = answer_of(self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
        return {
            (place.topic, place.partition): Committed(place.offset)
            for place in checked(found.topic_partitions)
        }

    def alter_group_offsets(self, group: str, offsets: Mapping[Place, Committed]) -> None:
        places = [TopicPartition(*place, offset, metadata) for place, (offset, metadata) in offsets.items()]
        wanted = ConsumerGroupTopicPartitions(group, places)
        checked(answer_of(self._admin.alter_consumer_group_offsets([wanted])).topic_partitions)


def answer_of(answers: Mapping[Any, Any]) -> Any:
    [answer] = answers.values()
    try:
        return answer.result(PATIENCE_S)
    except KafkaException as failure:
        raise Refused(failure.args[0].code(), failure.args[0].str()) from failure


def checked(places: list[TopicPartition]) -> list[TopicPartition]:
    for place in places:
        if place.error is not None:
            raise Refused(place.error.code(), place.error.str())
    return places
