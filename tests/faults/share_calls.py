"""Requests of share groups in a line each: a member that joins, fetches and acknowledges."""

from typing import Any

from tests.faults.group_calls import wait_for_coordinator
from tests.faults.odd_requests import change
from tests.faults.raw_client import RawClient, wait_until
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import share_acknowledge as acking
from tidelog.wire.messages import share_fetch as fetching
from tidelog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

GROUP_KIND = 32
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4

Ack = tuple[int, int, list[int]] | tuple[int, int, list[int], int]
"""First and last offset, types, and maybe the delay of a release in milliseconds."""


def set_group(client: RawClient, group: str, **settings: str) -> None:
    edits = [(name.replace("_", "."), 0, value) for name, value in settings.items()]
    [answer] = client.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, change(GROUP_KIND, group, *edits)).responses
    assert answer.error_code == ErrorCode.NONE, answer


def beat(client: RawClient, group: str, member: str, epoch: int, topics: list[str] | None = None) -> Any:
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
    )
    return client.ask(ApiKey.SHARE_GROUP_HEARTBEAT, request)


def join_shares(client: RawClient, group: str, member: str, topic: str, **settings: str) -> None:
    """Until the member has partitions."""
    set_group(client, group, share_auto_offset_reset="earliest", **settings)
    wait_for_coordinator(client, group)
    epoch = 0

    def has_partitions() -> bool:
        nonlocal epoch
        answer = beat(client, group, member, epoch, [topic])
        epoch = answer.member_epoch
        return answer.error_code == 0 and bool(answer.assignment and answer.assignment.topic_partitions)

    wait_until(has_partitions, "partitions for the member")


def fetch_shares(
    client: RawClient,
    group: str,
    member: str,
    epoch: int,
    topics: dict[bytes, list[int]] | None = None,
    **fields: Any,
) -> Any:
    wanted = {"max_wait_ms": 1000, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500}
    request = fetching.ShareFetchRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        topics=[
            fetching.FetchTopic(
                topic_id=topic, partitions=[fetching.FetchPartition(partition_index=n) for n in numbers]
            )
            for topic, numbers in (topics or {}).items()
        ],
        **wanted | fields,
    )
    return client.ask(ApiKey.SHARE_FETCH, request)


def acquired_in(answer: Any) -> list[tuple[int, int, int]]:
    return [
        (one.first_offset, one.last_offset, one.delivery_count)
        for topic in answer.responses
        for part in topic.partitions
        for one in part.acquired_records
    ]


def acknowledge(client: RawClient, group: str, member: str, epoch: int, topic: bytes, *acks: Ack) -> Any:
    batches = [
        acking.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=types, delay_ms=delay[0] if delay else -1
        )
        for first, last, types, *delay in acks
    ]
    part = acking.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
    request = acking.ShareAcknowledgeRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        topics=[acking.AcknowledgeTopic(topic_id=topic, partitions=[part])],
        is_renew_ack=any(RENEW in types for _, _, types, *_ in acks),
    )
    return client.ask(ApiKey.SHARE_ACKNOWLEDGE, request)


def ack_code(answer: Any) -> ErrorCode:
    """Of the request, or of its one partition."""
    return ErrorCode(answer.error_code or answer.responses[0].partitions[0].error_code)
