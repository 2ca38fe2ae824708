"""Members of share groups that lie: each gets the protocol's error, and no record changes its state."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.faults.log_calls import batch, create_topic, produce
from tests.faults.odd_requests import MAX32, MAX64, MIN64, UNKNOWN_ID, E, codes_of, delete_records
from tests.faults.raw_client import RawClient, wait_until
from tests.faults.share_calls import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Ack,
    ack_code,
    acknowledge,
    acquired_in,
    beat,
    fetch_shares,
    join_shares,
)
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import alter_share_group_offsets as altering
from tidelog.wire.messages import describe_share_group_offsets as offsets
from tidelog.wire.messages import share_acknowledge as acking
from tidelog.wire.messages import share_fetch as fetching
from tidelog.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from tidelog.wire.messages.describe_share_partitions import DescribeSharePartitionsRequest
from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest

pytestmark = pytest.mark.usefixtures("no_failures")

HUNDRED_YEARS_MS = 100 * 365 * 24 * 3_600_000
LONG = "g" * 32_000


class Queue:
    """A topic with five records, of which a member holds the first three."""

    def __init__(self, client: RawClient, **settings: str) -> None:
        self.client = client
        self.group, self.member, self.topic = f"g-{uuid4()}", "anna", f"t-{uuid4()}"
        self.topic_id = create_topic(client, self.topic)
        for value in b"abcde":
            assert produce(client, self.topic, batch(bytes([value]))).error_code == E.NONE
        join_shares(client, self.group, self.member, self.topic, **settings)
        answer = self.fetch(0, {self.topic_id: [0]}, max_records=3, share_acquire_mode=1)
        assert acquired_in(answer) == [(0, 2, 1)]
        self.epoch = 1

    def fetch(self, epoch: int, topics: dict[bytes, list[int]] | None = None, **fields: Any) -> Any:
        return fetch_shares(self.client, self.group, self.member, epoch, topics, **fields)

    def ack(self, *acks: Ack, member: str | None = None, epoch: int | None = None) -> E:
        answer = acknowledge(
            self.client,
            self.group,
            member or self.member,
            self.epoch if epoch is None else epoch,
            self.topic_id,
            *acks,
        )
        if epoch is None and not answer.error_code:
            self.epoch += 1
        return ack_code(answer)

    def described(self) -> tuple[int, ...]:
        request = DescribeSharePartitionsRequest(group_id=self.group)
        [one] = self.client.ask(ApiKey.DESCRIBE_SHARE_PARTITIONS, request).partitions
        return one.start_offset, one.end_offset, one.available, one.acquired, one.done, one.delayed


UNTOUCHED = (0, 3, 0, 3, 0, 0)


@pytest.fixture(scope="module")
def queue(broker: Broker) -> Iterator[Queue]:
    with RawClient(broker.port) as client:
        yield Queue(client)


BAD_ACKS: dict[str, tuple[list[Ack], E]] = {
    "not held": ([(3, 3, [ACCEPT])], E.INVALID_REQUEST),
    "held and not held": ([(0, 3, [ACCEPT])], E.INVALID_REQUEST),
    "held, then not held": ([(0, 0, [ACCEPT]), (4, 4, [ACCEPT])], E.INVALID_REQUEST),
    "everything": ([(0, MAX64, [ACCEPT])], E.INVALID_REQUEST),
    "far beyond the end": ([(MAX64, MAX64, [ACCEPT])], E.INVALID_REQUEST),
    "below zero": ([(-1, 0, [ACCEPT])], E.INVALID_REQUEST),
    "from the least number": ([(MIN64, MAX64, [ACCEPT])], E.INVALID_REQUEST),
    "backwards": ([(2, 0, [ACCEPT])], E.INVALID_REQUEST),
    "twice in a request": ([(0, 0, [ACCEPT]), (0, 0, [ACCEPT])], E.INVALID_RECORD_STATE),
    "overlapping": ([(0, 2, [ACCEPT]), (1, 1, [ACCEPT])], E.INVALID_REQUEST),
    "no type": ([(0, 0, [])], E.INVALID_REQUEST),
    "more types than offsets": ([(0, 0, [ACCEPT] * 3)], E.INVALID_REQUEST),
    "fewer types than offsets": ([(0, 2, [ACCEPT] * 2)], E.INVALID_REQUEST),
    "a million types": ([(0, 2, [ACCEPT] * 1_000_000)], E.INVALID_REQUEST),
    "an unknown type": ([(0, 0, [5])], E.INVALID_REQUEST),
    "a type below zero": ([(0, 0, [-1])], E.INVALID_REQUEST),
    "a delay of a hundred years": ([(0, 0, [RELEASE], HUNDRED_YEARS_MS)], E.INVALID_REQUEST),
    "a delay in the past": ([(0, 0, [RELEASE], -2)], E.INVALID_REQUEST),
    "the longest delay": ([(0, 0, [RELEASE], MAX64)], E.INVALID_REQUEST),
    "thousands of batches": ([(n, n, [ACCEPT]) for n in range(20_000)], E.INVALID_REQUEST),
}


@pytest.mark.parametrize("case", BAD_ACKS)
def test_a_wrong_acknowledgement_changes_nothing(queue: Queue, case: str) -> None:
    acks, expected = BAD_ACKS[case]
    begun = time.monotonic()
    assert queue.ack(*acks) == expected
    assert time.monotonic() - begun < 2
    assert queue.described() == UNTOUCHED


def test_wrong_epochs_change_nothing(queue: Queue) -> None:
    for epoch in (queue.epoch + 1, queue.epoch - 1 or MAX32, MAX32, -2, -(2**31)):
        assert queue.ack((0, 0, [ACCEPT]), epoch=epoch) == E.INVALID_SHARE_SESSION_EPOCH
        assert queue.fetch(epoch).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert queue.ack((0, 0, [ACCEPT]), epoch=0) == E.INVALID_SHARE_SESSION_EPOCH
    assert queue.ack((0, 0, [ACCEPT]), member="nobody") == E.SHARE_SESSION_NOT_FOUND
    assert queue.ack((0, 0, [ACCEPT]), member="nobody", epoch=-1) == E.SHARE_SESSION_NOT_FOUND
    assert queue.ack((0, 0, [ACCEPT]), member="m" * 37) == E.INVALID_REQUEST
    assert queue.described() == UNTOUCHED


def test_another_member_cannot_acknowledge_them(queue: Queue, broker: Broker) -> None:
    with RawClient(broker.port) as other:
        answer = fetch_shares(
            other, queue.group, "boris", 0, {queue.topic_id: [0]}, max_records=1, max_wait_ms=0
        )
        assert acquired_in(answer) == [(3, 3, 1)]
        stolen = acknowledge(other, queue.group, "boris", 1, queue.topic_id, (0, 2, [ACCEPT]))
        assert ack_code(stolen) == E.INVALID_RECORD_STATE
        both = acknowledge(other, queue.group, "boris", 2, queue.topic_id, (2, 3, [ACCEPT]))
        assert ack_code(both) == E.INVALID_RECORD_STATE
        fetch_shares(other, queue.group, "boris", -1)
    assert queue.described()[3:] == (3, 0, 0), "boris gave back the one record that it held"


def test_acknowledged_twice(client: RawClient) -> None:
    queue = Queue(client)
    assert queue.ack((0, 0, [ACCEPT])) == E.NONE
    assert queue.ack((0, 0, [ACCEPT])) == E.NONE, "it was passed, and has no effect"
    assert queue.ack((2, 2, [ACCEPT])) == E.NONE
    for kind in (ACCEPT, RELEASE, REJECT, RENEW):
        assert queue.ack((2, 2, [kind])) == E.INVALID_RECORD_STATE
    assert queue.described() == (1, 3, 0, 1, 1, 0)


def test_acknowledged_after_the_lock(client: RawClient) -> None:
    queue = Queue(client, share_record_lock_duration_ms="1000")
    given_back = (0, 3, 3, 0, 0, 0)
    wait_until(lambda: queue.described() == given_back, "the locks end")
    for kind in (ACCEPT, RELEASE, REJECT, RENEW):
        assert queue.ack((0, 2, [kind])) == E.INVALID_RECORD_STATE
    assert queue.described() == given_back


def test_a_member_that_vanishes_leaves_everything(broker: Broker, client: RawClient) -> None:
    with RawClient(broker.port) as lost:
        queue = Queue(lost)
        lost.send(b"\x00\x00\x40\x00")  # in the middle of a request
    queue.client = client
    wait_until(lambda: not queue_is_loaded(client, queue.group), "the group without sessions is dropped")
    answer = fetch_shares(client, queue.group, "boris", 0, {queue.topic_id: [0]})
    assert acquired_in(answer)[0] == (0, 2, 2), "delivered once before"


def queue_is_loaded(client: RawClient, group: str) -> bool:
    request = DescribeSharePartitionsRequest(group_id=group)
    return bool(client.ask(ApiKey.DESCRIBE_SHARE_PARTITIONS, request).partitions)


ODD_FETCHES: dict[str, dict[str, Any]] = {
    "all numbers at most": {
        "max_records": MAX32,
        "batch_size": MAX32,
        "min_bytes": MAX32,
        "max_bytes": MAX32,
        "max_wait_ms": 0,
    },
    "all numbers below zero": {
        "max_records": -1,
        "batch_size": -1,
        "min_bytes": -1,
        "max_bytes": -1,
        "max_wait_ms": -1,
    },
    "the least numbers": {
        "max_records": -(2**31),
        "batch_size": -(2**31),
        "min_bytes": -(2**31),
        "max_bytes": -(2**31),
        "max_wait_ms": -(2**31),
    },
    "no such mode": {"share_acquire_mode": 77, "max_wait_ms": 0},
    "batches of one": {"batch_size": 1, "max_wait_ms": 0},
    "much at least, and a wait": {"min_bytes": MAX32, "max_wait_ms": 50},
}


@pytest.mark.parametrize("case", ODD_FETCHES)
def test_odd_numbers_of_a_fetch(client: RawClient, case: str) -> None:
    queue = Queue(client)
    begun = time.monotonic()
    answer = queue.fetch(1, **ODD_FETCHES[case])
    assert time.monotonic() - begun < 2
    assert answer.error_code == E.NONE
    held = sum(last - first + 1 for first, last, _ in acquired_in(answer))
    expected = 0 if case in ("all numbers below zero", "the least numbers") else 2
    assert held == expected
    assert queue.described()[3] == 3 + expected


def test_renewing_and_fetching_at_once(client: RawClient) -> None:
    queue = Queue(client)
    answer = queue.fetch(1, is_renew_ack=True)
    assert answer.error_code == E.INVALID_REQUEST
    assert queue.described() == UNTOUCHED


def test_a_first_fetch_that_acknowledges(client: RawClient) -> None:
    queue = Queue(client)
    ack = fetching.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    part = fetching.FetchPartition(partition_index=0, acknowledgement_batches=[ack])
    request = fetching.ShareFetchRequest(
        group_id=queue.group,
        member_id=queue.member,
        topics=[fetching.FetchTopic(topic_id=queue.topic_id, partitions=[part])],
    )
    assert client.ask(ApiKey.SHARE_FETCH, request).error_code == E.INVALID_REQUEST
    assert queue.described() == UNTOUCHED


def test_partitions_and_topics_that_are_not_there(client: RawClient) -> None:
    queue = Queue(client)
    odd = {queue.topic_id: [-1, 1, MAX32], UNKNOWN_ID: [0], bytes(16): [0]}
    answer = queue.fetch(1, odd, max_wait_ms=0)
    codes = {
        (topic.topic_id, part.partition_index): part.error_code
        for topic in answer.responses
        for part in topic.partitions
        if part.error_code
    }
    unknown = E.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {
        (queue.topic_id, -1): unknown,
        (queue.topic_id, 1): unknown,
        (queue.topic_id, MAX32): unknown,
        (UNKNOWN_ID, 0): E.UNKNOWN_TOPIC_ID,
        (bytes(16), 0): E.UNKNOWN_TOPIC_ID,
    }


def ack_in_pieces(queue: Queue, pieces: int) -> acking.ShareAcknowledgeRequest:
    """The partition is named again for each offset."""
    parts = [
        acking.AcknowledgePartition(
            partition_index=0,
            acknowledgement_batches=[
                acking.AcknowledgementBatch(first_offset=n, last_offset=n, acknowledge_types=[1])
            ],
        )
        for n in range(pieces)
    ]
    return acking.ShareAcknowledgeRequest(
        group_id=queue.group,
        member_id=queue.member,
        share_session_epoch=1,
        topics=[acking.AcknowledgeTopic(topic_id=queue.topic_id, partitions=parts)],
    )


def test_a_partition_that_is_named_100_000_times(client: RawClient) -> None:
    """(As many copies of what came before would take most of a minute.)"""
    queue = Queue(client)
    request = ack_in_pieces(queue, 100_000)
    begun = time.monotonic()
    assert ack_code(client.ask(ApiKey.SHARE_ACKNOWLEDGE, request)) == E.INVALID_REQUEST
    assert time.monotonic() - begun < 5
    assert queue.described() == UNTOUCHED


def describe_offsets(client: RawClient, *groups: offsets.DescribeShareGroupOffsetsRequestGroup) -> Any:
    request = offsets.DescribeShareGroupOffsetsRequest(groups=list(groups))
    return client.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, request)


def test_offsets_of_many_partitions_that_are_not_there(client: RawClient) -> None:
    """No coordinator is asked for them. (A task for each would take gigabytes.)"""
    queue = Queue(client)
    numbers = [*range(100_000), *([0] * 100_000), -1]
    topic = offsets.DescribeShareGroupOffsetsRequestTopic(topic_name=queue.topic, partitions=numbers)
    group = offsets.DescribeShareGroupOffsetsRequestGroup(group_id=queue.group, topics=[topic])
    begun = time.monotonic()
    [answer] = describe_offsets(client, group).groups
    assert time.monotonic() - begun < 15
    assert answer.error_code == E.NONE
    found = {part.partition_index: part for topic in answer.topics for part in topic.partitions}
    assert len(found) == 100_001 == sum(len(topic.partitions) for topic in answer.topics)
    assert (found[0].error_code, found[0].start_offset) == (E.NONE, 0)
    assert {found[n].error_code for n in (-1, 1, 99_999)} == {E.UNKNOWN_TOPIC_OR_PARTITION}


def test_offsets_of_a_group_that_is_named_again(client: RawClient) -> None:
    queue = Queue(client)
    named = [offsets.DescribeShareGroupOffsetsRequestGroup(group_id=queue.group, topics=None)] * 10_000
    answer = describe_offsets(client, *named)
    assert {group.error_code for group in answer.groups} == {E.INVALID_REQUEST}
    assert len(answer.groups) == 10_000


def test_groups_that_no_one_may_have(client: RawClient) -> None:
    queue = Queue(client)
    assert beat(client, "", "anna", 0, [queue.topic]).error_code == E.INVALID_REQUEST
    assert beat(client, LONG, "anna", 0, [queue.topic]).error_code == E.INVALID_REQUEST
    assert beat(client, queue.group, "", 0, [queue.topic]).error_code == E.INVALID_REQUEST
    assert beat(client, queue.group, "m" * 37, 0, [queue.topic]).error_code == E.INVALID_REQUEST
    assert beat(client, queue.group, "boris", 0, []).error_code == E.INVALID_REQUEST
    assert beat(client, queue.group, "boris", -2).error_code == E.INVALID_REQUEST
    assert beat(client, queue.group, "boris", 9).error_code == E.UNKNOWN_MEMBER_ID
    assert beat(client, queue.group, "anna", MAX32).error_code == E.FENCED_MEMBER_EPOCH
    described = client.ask(ApiKey.SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest(group_ids=["", LONG]))
    assert codes_of(described) == [E.INVALID_GROUP_ID, E.GROUP_ID_NOT_FOUND]
    assert queue.described() == UNTOUCHED


def test_offsets_of_a_group_with_members_stay(client: RawClient) -> None:
    queue = Queue(client)
    part = altering.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=5)
    topic = altering.AlterShareGroupOffsetsRequestTopic(topic_name=queue.topic, partitions=[part])
    alter = altering.AlterShareGroupOffsetsRequest(group_id=queue.group, topics=[topic])
    assert client.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, alter).error_code == E.NON_EMPTY_GROUP
    delete = DeleteShareGroupOffsetsRequest(group_id=queue.group)
    assert client.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, delete).error_code == E.NON_EMPTY_GROUP
    assert queue.described() == UNTOUCHED


@pytest.mark.parametrize("offset", [-2, MIN64])
def test_offsets_below_zero_are_refused(client: RawClient, offset: int) -> None:
    queue = Queue(client)
    beat(client, queue.group, queue.member, -1)
    part = altering.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=offset)
    topic = altering.AlterShareGroupOffsetsRequestTopic(topic_name=queue.topic, partitions=[part])
    request = altering.AlterShareGroupOffsetsRequest(group_id=queue.group, topics=[topic])
    assert codes_of(client.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, request)) == [E.INVALID_REQUEST]


def test_an_offset_far_beyond_the_end(client: RawClient) -> None:
    """The group goes on at the end."""
    queue = Queue(client)
    queue.fetch(-1)
    beat(client, queue.group, queue.member, -1)
    part = altering.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=MAX64)
    topic = altering.AlterShareGroupOffsetsRequestTopic(topic_name=queue.topic, partitions=[part])
    request = altering.AlterShareGroupOffsetsRequest(group_id=queue.group, topics=[topic])
    assert codes_of(client.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, request)) == [E.NONE]
    join_shares(client, queue.group, "boris", queue.topic)
    queue.member = "boris"
    assert acquired_in(queue.fetch(0, {queue.topic_id: [0]}, max_wait_ms=300)) == []
    assert produce(client, queue.topic, batch(b"f")).error_code == E.NONE
    assert acquired_in(queue.fetch(1)) == [(5, 5, 1)]


@pytest.mark.parametrize("topic", ["__share_group_state", "__consumer_offsets"])
def test_the_state_of_groups_is_the_brokers_own(client: RawClient, topic: str) -> None:
    """(A record that no coordinator can read, and it would load no state again.)"""
    queue = Queue(client)
    junk = batch(b"junk", key=b"\x00\x00junk")
    for _ in range(3):  # the second of a kind may take a shorter path
        assert produce(client, topic, junk).error_code == E.INVALID_TOPIC_EXCEPTION
    refused = client.ask(ApiKey.DELETE_RECORDS, delete_records(topic, 0, -1))
    assert codes_of(refused) == [E.INVALID_TOPIC_EXCEPTION]
    assert queue.ack((0, 2, [ACCEPT])) == E.NONE
