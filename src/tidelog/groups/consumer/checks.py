"""What makes a ConsumerGroupHeartbeat invalid before anybody looks at the group."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.consumer.messages import JOINING, LEAVING, LEAVING_FOR_A_WHILE, HeartbeatRequest
from tidelog.groups.settings import GroupSettings

MEMBER_CHOOSES_ID_FROM = 1
NAME_CHARS_MAX = 8191
"""Ids are stored in keys of records, where a string has 15 bits for its length in bytes."""


def check(request: HeartbeatRequest, settings: GroupSettings) -> None:
    """KafkaError for a request that no group could accept."""
    _check_names(request)
    epoch = request.member_epoch
    if epoch < LEAVING_FOR_A_WHILE:
        raise _invalid("MemberEpoch is invalid.")
    if not request.member_id and (epoch != JOINING or request.api_version >= MEMBER_CHOOSES_ID_FROM):
        raise _invalid("MemberId can't be empty.")
    if epoch == LEAVING_FOR_A_WHILE and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    if epoch == JOINING:
        _check_join(request)
    assignor = request.server_assignor
    if epoch > LEAVING and assignor is not None and assignor not in settings.consumer_assignors:
        supported = ", ".join(settings.consumer_assignors)
        why = f"ServerAssignor {assignor} is not supported. Supported assignors: {supported}."
        raise KafkaError(ErrorCode.UNSUPPORTED_ASSIGNOR, why)


def _check_names(request: HeartbeatRequest) -> None:
    for name, value in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        if value == "":
            raise _invalid(f"{name} can't be empty.")
    for value in (request.group_id, request.member_id, request.instance_id):
        if value is not None and len(value) > NAME_CHARS_MAX:
            raise _invalid(f"An id is longer than {NAME_CHARS_MAX} characters.")


def _check_join(request: HeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    # An empty list or expression is fine: a member that reads nothing yet.
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
        )


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)
