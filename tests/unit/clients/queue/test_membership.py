"""A member of a share group joins, follows its coordinator, comes back when it is forgotten, and leaves."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.clients.queue.membership import Membership, SharedPartition
from tidelog.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

ID = b"i" * 16


def answer(epoch: int, partitions: list[int] | None = None) -> ShareGroupHeartbeatResponse:
    assignment = None
    if partitions is not None:
        assignment = Assignment(topic_partitions=[TopicPartitions(topic_id=ID, partitions=partitions)])
    return ShareGroupHeartbeatResponse(member_epoch=epoch, heartbeat_interval_ms=5000, assignment=assignment)


def test_it_joins_with_its_topic_and_then_only_says_that_it_is_there() -> None:
    member = Membership("workers", "jobs")
    first = member.heartbeat()
    assert (first.member_epoch, first.subscribed_topic_names) == (0, ["jobs"])
    assert 0 < len(first.member_id) <= 36
    assert not member.answered(answer(1, [0, 2]), 10.0)
    assert member.assignment == {SharedPartition(ID, 0), SharedPartition(ID, 2)}
    assert member.next_heartbeat == 15.0
    second = member.heartbeat()
    assert (second.member_epoch, second.subscribed_topic_names) == (1, None)
    member.answered(answer(1), 15.0)
    assert len(member.assignment) == 2


def test_it_asks_again_soon_while_it_has_no_partitions() -> None:
    member = Membership("workers", "jobs")
    member.answered(answer(1, []), 10.0)
    assert member.next_heartbeat == pytest.approx(10.1)
    member.answered(answer(1), 10.1)
    assert member.next_heartbeat == pytest.approx(10.3)
    member.answered(answer(2, [0]), 10.3)
    assert member.next_heartbeat == pytest.approx(15.3)


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
def test_a_forgotten_member_joins_again(error: ErrorCode) -> None:
    member = Membership("workers", "jobs")
    member.answered(answer(3, [0]), 10.0)
    assert not member.answered(ShareGroupHeartbeatResponse(error_code=error), 15.0)
    assert not member.assignment
    assert member.next_heartbeat == 15.0
    assert member.heartbeat().member_epoch == 0


def test_a_coordinator_that_moved_is_looked_up_after_a_pause() -> None:
    member = Membership("workers", "jobs")
    assert member.answered(ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), 10.0)
    assert member.next_heartbeat == pytest.approx(10.1)
    assert member.answered(ShareGroupHeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), 10.1)
    assert member.next_heartbeat == pytest.approx(10.3)


@pytest.mark.parametrize("error", [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_ID_NOT_FOUND])
def test_a_refusal_of_a_new_member_is_the_users_to_know(error: ErrorCode) -> None:
    member = Membership("workers", "jobs")
    with pytest.raises(KafkaError):
        member.answered(ShareGroupHeartbeatResponse(error_code=error), 10.0)


def test_it_leaves() -> None:
    member = Membership("workers", "jobs")
    member.answered(answer(3, [0]), 10.0)
    assert member.leaving().member_epoch == -1
