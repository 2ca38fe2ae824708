"""Group requests in one line each, in the newest version unless told otherwise."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.faults.raw_client import RawClient, wait_until
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.heartbeat import HeartbeatRequest
from tidelog.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest
from tidelog.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SESSION_MS = 10_000
NAMED_TOPICS = 9
"""The last version of OffsetCommit that names topics instead of giving their ids."""
WITHOUT_ID = 3
"""The last version of JoinGroup in which a new member may come without an id."""

# version 0, one topic "t", no user data; nobody here looks into it
SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x01\x00\x01t\xff\xff\xff\xff"


def wait_for_coordinator(client: RawClient, group: str) -> None:
    """Apache Kafka makes the offsets topic when somebody asks for a coordinator, and is not ready at once."""

    def is_ready() -> bool:
        asked = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        [found] = client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators
        return not found.error_code and heartbeat(client, group, "nobody") is ErrorCode.UNKNOWN_MEMBER_ID

    wait_until(is_ready, "a coordinator")


def join_request(group: str, member_id: str = "", **changes: Any) -> JoinGroupRequest:
    protocols: Mapping[str, bytes] = changes.pop("protocols", {"range": SUBSCRIPTION})
    fields: dict[str, Any] = {
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "protocol_type": "consumer",
    }
    named = [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()]
    return JoinGroupRequest(group_id=group, member_id=member_id, protocols=named, **fields | changes)


def join(client: RawClient, group: str, member_id: str = "", version: int = 9, **changes: Any) -> Any:
    return client.ask(ApiKey.JOIN_GROUP, join_request(group, member_id, **changes), version)


def sync_request(group: str, member_id: str, generation: int, **changes: Any) -> SyncGroupRequest:
    shares: Iterable[str] = changes.pop("shares", ())
    fields = {"protocol_type": "consumer", "protocol_name": "range"} | changes
    given = [SyncGroupRequestAssignment(member_id=one, assignment=one.encode()) for one in shares]
    return SyncGroupRequest(
        group_id=group, member_id=member_id, generation_id=generation, assignments=given, **fields
    )


def sync(client: RawClient, group: str, member_id: str, generation: int, **changes: Any) -> Any:
    return client.ask(ApiKey.SYNC_GROUP, sync_request(group, member_id, generation, **changes))


def heartbeat(
    client: RawClient, group: str, member_id: str, generation: int = 0, instance_id: str | None = None
) -> ErrorCode:
    request = HeartbeatRequest(
        group_id=group, member_id=member_id, generation_id=generation, group_instance_id=instance_id
    )
    return ErrorCode(client.ask(ApiKey.HEARTBEAT, request).error_code)


def leave(client: RawClient, group: str, member_id: str) -> tuple[ErrorCode, list[ErrorCode]]:
    """What the group says, and what is said about each member."""
    answer = client.ask(
        ApiKey.LEAVE_GROUP, LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)])
    )
    return ErrorCode(answer.error_code), [ErrorCode(one.error_code) for one in answer.members]


def commit(
    client: RawClient,
    group: str,
    topic: str,
    offsets: Mapping[int, tuple[int, str | None]],
    *,
    member_id: str = "",
    generation: int = -1,
) -> dict[int, ErrorCode]:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=words)
        for index, (offset, words) in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=group,
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
    )
    [answer] = client.ask(ApiKey.OFFSET_COMMIT, request, NAMED_TOPICS).topics
    return {one.partition_index: ErrorCode(one.error_code) for one in answer.partitions}


def committed(client: RawClient, group: str) -> dict[tuple[str, int], int]:
    answer = client.ask(ApiKey.OFFSET_FETCH, OffsetFetchRequest(group_id=group, topics=None), 7)
    assert answer.error_code == ErrorCode.NONE
    return {(t.name, p.partition_index): p.committed_offset for t in answer.topics for p in t.partitions}


class OneMember:
    """A group with one member, in a stable generation."""

    def __init__(self, client: RawClient, group: str, **changes: Any) -> None:
        self.client = client
        self.group = group
        joined = join(client, group, version=WITHOUT_ID, **changes)
        assert joined.error_code == ErrorCode.NONE
        self.id = joined.member_id
        self.generation = joined.generation_id
        synced = sync(client, group, self.id, self.generation, shares=[self.id])
        assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, self.id.encode())

    def check_well(self, topic: str = "") -> None:
        """The group goes on: same generation, heartbeats and commits are taken."""
        assert heartbeat(self.client, self.group, self.id, self.generation) is ErrorCode.NONE
        if topic:
            taken = commit(
                self.client, self.group, topic, {0: (7, None)}, member_id=self.id, generation=self.generation
            )
            assert taken == {0: ErrorCode.NONE}
            assert committed(self.client, self.group)[topic, 0] == 7
