"""A place in a share group: joins, sends heartbeats, and gets the partitions to read."""

import base64
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.clients.client import ERRORS, Address, Client
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

FIND_COORDINATOR_VERSION, HEARTBEAT_VERSION = 3, 1
JOIN, LEAVE = 0, -1

Place = tuple[str, int]

LOST_PLACE = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}
LOST_COORDINATOR = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}
EXPECTED = (
    LOST_PLACE
    | LOST_COORDINATOR
    | {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


class ShareMembership:
    def __init__(self, client: Client, group: str, topics: list[str]) -> None:
        self._client = client
        self._group = group
        self._topics = topics
        self._coordinator: Address | None = None
        self._epoch = JOIN
        self._is_heard = False
        """Whether the last heartbeat was answered. An answer that was lost may have had an assignment."""
        self.member_id = new_member_id(client)
        self._assigned: list[tuple[bytes, int]] = []
        self.complaints: list[str] = []

    async def beat(self) -> None:
        """OSError where the coordinator does not answer."""
        request = ShareGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=self._epoch
        )
        if self._epoch == JOIN or not self._is_heard:
            request.subscribed_topic_names = self._topics  # then the answer has the whole assignment
        self._is_heard = False
        answer: ShareGroupHeartbeatResponse = await self._ask(request)
        if not self._check(answer):
            return
        self._is_heard = True
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            self._assigned = [
                (topic.topic_id, index)
                for topic in answer.assignment.topic_partitions
                for index in topic.partitions
            ]

    @property
    def places(self) -> list[Place]:
        """Of the topics whose names the client knows by now."""
        names = {id: name for name, id in self._client.topic_ids.items()}
        return [(names[topic_id], index) for topic_id, index in self._assigned if topic_id in names]

    async def leave(self) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=LEAVE
        )
        self._epoch, self._assigned = JOIN, []
        self.member_id = new_member_id(self._client)  # whether or not the coordinator hears of it
        self._check(await self._ask(request))

    async def _ask(self, request: ShareGroupHeartbeatRequest) -> Any:
        if self._coordinator is None:
            question = FindCoordinatorRequest(key=self._group)
            answer = await self._client.call_any(
                ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, question, 3.0
            )
            if answer.error_code:
                raise ConnectionError(f"no coordinator: {answer.error_code}")
            self._coordinator = answer.host, answer.port
        try:
            return await self._client.call(
                self._coordinator, ApiKey.SHARE_GROUP_HEARTBEAT, HEARTBEAT_VERSION, request, 2.0
            )
        except OSError:
            self._coordinator = None
            raise

    def _check(self, answer: ShareGroupHeartbeatResponse) -> bool:
        error = ERRORS[answer.error_code]
        if error in LOST_PLACE:
            self._epoch, self._assigned = JOIN, []
        if error in LOST_COORDINATOR:
            self._coordinator = None
        if error is not ErrorCode.NONE and error not in EXPECTED:
            self.complaints.append(
                f"{self._client.name}: a heartbeat of {self._group} got {error.name}: {answer.error_message}"
            )
        return error is ErrorCode.NONE


def new_member_id(client: Client) -> str:
    """A UUID in Kafka's form."""
    return base64.urlsafe_b64encode(client.chance.randbytes(16)).decode().rstrip("=")
