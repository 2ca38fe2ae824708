"""Bad requests to consumer groups get the error that Apache Kafka gives, and the group goes on.

TIDELOG_INTEROP_BOOTSTRAP=host:port runs the same tests against a broker that is already up.
"""

import os
import select
import uuid
from collections.abc import Iterator

import pytest

from tests.faults.group_calls import (
    NAMED_TOPICS,
    SUBSCRIPTION,
    WITHOUT_ID,
    OneMember,
    commit,
    committed,
    heartbeat,
    join,
    join_request,
    leave,
    sync,
    sync_request,
    wait_for_coordinator,
)
from tests.faults.raw_client import RawClient, wait_until
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

NO_OPERATIONS = -(2**31)

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    address = os.environ.get("TIDELOG_INTEROP_BOOTSTRAP")
    if address is not None:
        yield int(address.rpartition(":")[2])
        return
    with Broker(settings={"group.min.session.timeout.ms": 1000}) as running:
        yield running.port


@pytest.fixture
def client(port: int) -> Iterator[RawClient]:
    with RawClient(port) as connected:
        yield connected


@pytest.fixture
def group(client: RawClient) -> str:
    name = f"group-{uuid.uuid4()}"
    wait_for_coordinator(client, name)
    return name


@pytest.fixture
def member(client: RawClient, group: str) -> OneMember:
    return OneMember(client, group)


@pytest.fixture
def topic(client: RawClient) -> str:
    name = f"topic-{uuid.uuid4()}"
    wanted = CreatableTopic(name=name, num_partitions=2, replication_factor=1)
    [made] = client.ask(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000)).topics
    assert made.error_code == ErrorCode.NONE
    wait_for_coordinator(client, name)
    # A new topic is known to commits a moment after it was made.
    wait_until(lambda: commit(client, name, name, {0: (0, None)}) == {0: ErrorCode.NONE}, "the topic")
    return name


# --- who is nobody


def test_an_empty_group_id(client: RawClient, topic: str) -> None:
    assert join(client, "").error_code == ErrorCode.INVALID_GROUP_ID
    assert sync(client, "", "member", 1).error_code == ErrorCode.INVALID_GROUP_ID
    assert heartbeat(client, "", "member") is ErrorCode.INVALID_GROUP_ID
    assert leave(client, "", "member")[0] is ErrorCode.INVALID_GROUP_ID
    answer = client.ask(ApiKey.OFFSET_DELETE, OffsetDeleteRequest(group_id=""))
    assert answer.error_code == ErrorCode.INVALID_GROUP_ID
    # Consumers of old had no group, and still kept their offsets under that name.
    assert commit(client, "", topic, {0: (1, None)}) == {0: ErrorCode.NONE}


def test_a_new_member_gets_its_id_first(client: RawClient, group: str) -> None:
    told = join(client, group)
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = join(client, group, told.member_id)
    assert (joined.error_code, joined.generation_id) == (ErrorCode.NONE, 1)


def test_strangers(client: RawClient, group: str, topic: str) -> None:
    """In a group that nobody knows."""
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert join(client, group, "stranger").error_code == unknown
    assert sync(client, group, "stranger", 1).error_code == unknown
    assert heartbeat(client, group, "stranger", 1) is unknown
    assert leave(client, group, "stranger") == (ErrorCode.NONE, [unknown])
    assert commit(client, group, topic, {0: (1, None)}, member_id="stranger", generation=1) == {
        0: ErrorCode.GROUP_ID_NOT_FOUND
    }
    assert committed(client, group) == {}


def test_strangers_in_a_group_that_works(client: RawClient, member: OneMember, topic: str) -> None:
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    group, generation = member.group, member.generation
    assert join(client, group, "stranger").error_code == unknown
    assert sync(client, group, "stranger", generation).error_code == unknown
    assert heartbeat(client, group, "stranger", generation) is unknown
    assert leave(client, group, "stranger") == (ErrorCode.NONE, [unknown])
    assert commit(client, group, topic, {0: (1, None)}, member_id="stranger", generation=generation) == {
        0: unknown
    }
    assert commit(client, group, topic, {0: (1, None)}) == {0: unknown}
    member.check_well(topic)


def test_another_generation(client: RawClient, member: OneMember, topic: str) -> None:
    stale = ErrorCode.ILLEGAL_GENERATION
    for generation in (member.generation - 1, member.generation + 1):
        assert heartbeat(client, member.group, member.id, generation) is stale
        assert sync(client, member.group, member.id, generation).error_code == stale
        refused = commit(
            client, member.group, topic, {0: (1, None)}, member_id=member.id, generation=generation
        )
        assert refused in ({0: stale}, {0: ErrorCode.STALE_MEMBER_EPOCH})
    member.check_well(topic)


def test_a_second_of_the_same_instance_id(client: RawClient, group: str) -> None:
    first = join(client, group, version=9, group_instance_id="one")
    assert first.error_code == ErrorCode.NONE
    shares = {"shares": [first.member_id], "group_instance_id": "one"}
    assert sync(client, group, first.member_id, 1, **shares).error_code == ErrorCode.NONE
    second = join(client, group, version=9, group_instance_id="one")
    assert second.error_code == ErrorCode.NONE
    assert second.member_id != first.member_id
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert heartbeat(client, group, first.member_id, 1, "one") is fenced
    assert sync(client, group, first.member_id, 1, group_instance_id="one").error_code == fenced
    assert join(client, group, first.member_id, group_instance_id="one").error_code == fenced
    assert heartbeat(client, group, second.member_id, second.generation_id, "one") is ErrorCode.NONE


# --- what makes no sense


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol_type": "connect"},
        {"protocol_type": ""},
        {"protocols": {}},
        {"protocols": {"nobody knows it": SUBSCRIPTION}},
    ],
    ids=str,
)
def test_protocols_that_do_not_fit(client: RawClient, member: OneMember, changes: dict[str, object]) -> None:
    refused = join(client, member.group, version=WITHOUT_ID, **changes)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    member.check_well()


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol_type": "connect"},
        {"protocol_name": "sticky"},
        {"protocol_type": None},
        {"protocol_name": None},
    ],
    ids=str,
)
def test_a_sync_for_another_protocol(
    client: RawClient, member: OneMember, changes: dict[str, object]
) -> None:
    refused = sync(client, member.group, member.id, member.generation, **changes)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    member.check_well()


@pytest.mark.parametrize("session_ms", [-1, 0, 999, 1_800_001])
def test_sessions_that_are_too_short_or_too_long(client: RawClient, group: str, session_ms: int) -> None:
    refused = join(client, group, version=WITHOUT_ID, session_timeout_ms=session_ms)
    assert refused.error_code == ErrorCode.INVALID_SESSION_TIMEOUT


# --- commits


def test_commits_for_what_does_not_exist(client: RawClient, member: OneMember, topic: str) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    offsets = {0: (1, None), 1: (2, None), 99: (3, None), -1: (4, None)}
    mixed = commit(client, member.group, topic, offsets, member_id=member.id, generation=member.generation)
    assert mixed == {0: ErrorCode.NONE, 1: ErrorCode.NONE, 99: unknown, -1: unknown}
    for name in ("nobody-knows-it", "bad name!", ""):
        assert commit(
            client, member.group, name, {0: (1, None)}, member_id=member.id, generation=member.generation
        ) == {0: unknown}
    assert committed(client, member.group) == {(topic, 0): 1, (topic, 1): 2}
    member.check_well(topic)


def test_commits_for_topic_ids_that_do_not_exist(client: RawClient, member: OneMember) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    request = OffsetCommitRequest(
        group_id=member.group,
        member_id=member.id,
        generation_id_or_member_epoch=member.generation,
        topics=[OffsetCommitRequestTopic(topic_id=uuid.uuid4().bytes, partitions=[partition])],
    )
    [answer] = client.ask(ApiKey.OFFSET_COMMIT, request, NAMED_TOPICS + 1).topics
    assert answer.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    member.check_well()


def test_words_that_are_too_many(client: RawClient, member: OneMember, topic: str) -> None:
    offsets = {0: (1, "w" * 4096), 1: (2, "w" * 4097)}
    answer = commit(client, member.group, topic, offsets, member_id=member.id, generation=member.generation)
    assert answer == {0: ErrorCode.NONE, 1: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert committed(client, member.group) == {(topic, 0): 1}
    member.check_well(topic)


def test_commits_in_the_middle_of_a_rebalance(client: RawClient, group: str, topic: str) -> None:
    joined = join(client, group, version=WITHOUT_ID)
    answer = commit(
        client, group, topic, {0: (1, None)}, member_id=joined.member_id, generation=joined.generation_id
    )
    assert answer == {0: ErrorCode.REBALANCE_IN_PROGRESS}
    assert heartbeat(client, group, joined.member_id, joined.generation_id) is ErrorCode.NONE


# --- members that do not do their part


def test_a_leader_that_joins_and_never_syncs(port: int, client: RawClient, group: str) -> None:
    """The follower that waits for its share is sent back to join, and then leads."""
    leader = join(client, group, version=WITHOUT_ID, rebalance_timeout_ms=1_500)
    with RawClient(port) as other, RawClient(port) as first:
        number = other.send_request(
            ApiKey.JOIN_GROUP, WITHOUT_ID, join_request(group, rebalance_timeout_ms=1_500)
        )
        wait_until(
            lambda: (
                heartbeat(client, group, leader.member_id, leader.generation_id)
                is ErrorCode.REBALANCE_IN_PROGRESS
            ),
            "the leader is told to join again",
        )
        again = join(first, group, leader.member_id, version=WITHOUT_ID, rebalance_timeout_ms=1_500)
        answered, follower = read_response(ApiKey.JOIN_GROUP, WITHOUT_ID, other.receive())
        assert answered == number
        assert again.generation_id == follower.generation_id == 2
        assert follower.leader == leader.member_id
        # Its session is much longer than the time that the leader has to assign.
        waiting = sync_request(group, follower.member_id, 2)
        other.send_request(ApiKey.SYNC_GROUP, 5, waiting)
        _, told = read_response(ApiKey.SYNC_GROUP, 5, other.receive())
        assert told.error_code == ErrorCode.REBALANCE_IN_PROGRESS
        joined = join(other, group, follower.member_id, version=WITHOUT_ID)
        assert (joined.leader, len(joined.members)) == (follower.member_id, 1)
        shares = [follower.member_id]
        synced = sync(other, group, follower.member_id, joined.generation_id, shares=shares)
        assert synced.error_code == ErrorCode.NONE
        assert heartbeat(client, group, leader.member_id, 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_metadata_that_is_too_large_to_keep(port: int, client: RawClient, member: OneMember) -> None:
    """A broker may refuse it at once or when it stores the group; either way the others go on without it."""
    with RawClient(port) as other:
        huge = join_request(member.group, protocols={"range": bytes(2 << 20)})
        other.send_request(ApiKey.JOIN_GROUP, WITHOUT_ID, huge)

        def is_answered() -> bool:
            return bool(select.select([other.socket], [], [], 0)[0])

        def is_joining() -> bool:
            code = heartbeat(client, member.group, member.id, member.generation)
            return code is ErrorCode.REBALANCE_IN_PROGRESS

        wait_until(lambda: is_answered() or is_joining(), "it is refused, or joins")
        if is_answered():
            _, refused = read_response(ApiKey.JOIN_GROUP, WITHOUT_ID, other.receive())
            assert refused.error_code
            member.check_well()
            return
    rejoined = join(client, member.group, member.id, version=WITHOUT_ID)
    stored = sync(client, member.group, member.id, rejoined.generation_id, shares=[member.id])
    assert stored.error_code != ErrorCode.NONE


# --- admin


def test_groups_that_nobody_knows(client: RawClient, group: str) -> None:
    for version, code in ((5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)):
        request = DescribeGroupsRequest(groups=[group], include_authorized_operations=True)
        [described] = client.ask(ApiKey.DESCRIBE_GROUPS, request, version).groups
        assert (described.error_code, described.group_state) == (code, "Dead")
        assert (described.authorized_operations == NO_OPERATIONS) is bool(code)
    [deleted] = client.ask(ApiKey.DELETE_GROUPS, DeleteGroupsRequest(groups_names=[group])).results
    assert deleted.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    answer = client.ask(ApiKey.OFFSET_DELETE, OffsetDeleteRequest(group_id=group))
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert committed(client, group) == {}


def test_deleting_offsets_of_what_does_not_exist(client: RawClient, group: str, topic: str) -> None:
    assert commit(client, group, topic, {0: (1, None), 1: (2, None)}) == {
        0: ErrorCode.NONE,
        1: ErrorCode.NONE,
    }
    asked = {topic: [0, 9], "nobody-knows-it": [0]}
    topics = [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
        )
        for name, indexes in asked.items()
    ]
    answer = client.ask(ApiKey.OFFSET_DELETE, OffsetDeleteRequest(group_id=group, topics=topics))
    assert answer.error_code == ErrorCode.NONE
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions} == {
        (topic, 0): ErrorCode.NONE,
        (topic, 9): unknown,
        ("nobody-knows-it", 0): unknown,
    }
    assert committed(client, group) == {(topic, 1): 2}


def test_a_group_with_members_cannot_be_deleted(client: RawClient, member: OneMember) -> None:
    request = DeleteGroupsRequest(groups_names=[member.group, "nobody-knows-it"])
    results = client.ask(ApiKey.DELETE_GROUPS, request).results
    assert {one.group_id: one.error_code for one in results} == {
        member.group: ErrorCode.NON_EMPTY_GROUP,
        "nobody-knows-it": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    member.check_well()
