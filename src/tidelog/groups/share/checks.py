"""What makes a ShareGroupHeartbeat invalid before anybody looks at the group."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.groups.consumer.checks import NAME_CHARS_MAX
from tidelog.groups.consumer.messages import JOINING, LEAVING
from tidelog.groups.share.messages import HeartbeatRequest

MEMBER_ID_CHARS_MAX = 36
"""A UUID as text: clients choose their ids by themselves."""


def check(request: HeartbeatRequest) -> None:
    """KafkaError for a request that no group could accept."""
    for name, value in (
        ("MemberId", request.member_id),
        ("GroupId", request.group_id),
        ("RackId", request.rack_id),
    ):
        if value == "":
            raise _invalid(f"{name} can't be empty.")
        if value is not None and len(value) > NAME_CHARS_MAX:
            raise _invalid(f"{name} is longer than {NAME_CHARS_MAX} characters.")
    if len(request.member_id) > MEMBER_ID_CHARS_MAX:
        raise _invalid(f"MemberId is longer than {MEMBER_ID_CHARS_MAX} characters.")
    if request.member_epoch == JOINING and not request.subscribed_topic_names:
        raise _invalid("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVING:
        raise _invalid("MemberEpoch is invalid.")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)
