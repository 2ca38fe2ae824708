"""The client's place in its share group, without I/O: heartbeats to send, and the partitions they bring."""

import base64
import uuid
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

JOIN, LEAVE = 0, -1
"""Epochs of a member that comes, and of a member that goes."""
RETRY_S = 0.1
RETRY_MAX_S = 2.0

LOST_PLACE = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)


class SharedPartition(NamedTuple):
    topic_id: bytes
    partition: int


class Membership:
    def __init__(self, group_id: str, topic: str, member_id: str | None = None) -> None:
        self.group_id = group_id
        self.member_id = member_id or new_member_id()
        self.assignment: frozenset[SharedPartition] = frozenset()
        self.next_heartbeat = 0.0
        self._topic = topic
        self._epoch = JOIN
        self._pause_s = RETRY_S

    @property
    def is_joined(self) -> bool:
        return self._epoch > JOIN

    def heartbeat(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self._epoch,
            subscribed_topic_names=[self._topic] if self._epoch == JOIN else None,
        )

    def leaving(self) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=LEAVE
        )

    def answered(self, answer: ShareGroupHeartbeatResponse, now: float) -> bool:
        """Returns whether the coordinator is to be looked up again. KafkaError where a retry is in vain."""
        error = ErrorCode.of(answer.error_code)
        if error is ErrorCode.NONE:
            self._epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assignment = frozenset(
                    SharedPartition(topic.topic_id, index)
                    for topic in answer.assignment.topic_partitions
                    for index in topic.partitions
                )
            interval_s = answer.heartbeat_interval_ms / 1000
            if not self.assignment:  # the coordinator prepares the partitions; they come soon
                self.failed(now)
                interval_s = min(interval_s, self.next_heartbeat - now)
            else:
                self._pause_s = RETRY_S
            self.next_heartbeat = now + interval_s
            return False
        if error in LOST_PLACE and self._epoch != JOIN:
            self._epoch, self.assignment = JOIN, frozenset()
            self.next_heartbeat = now
            return False
        if not error.retriable:
            raise KafkaError(error, answer.error_message)
        self.failed(now)
        return True

    def failed(self, now: float) -> None:
        """No answer, or one that may be better next time."""
        self.next_heartbeat = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, RETRY_MAX_S)


def new_member_id() -> str:
    """A UUID in Kafka's form."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
