"""Groups under an authorizer: what is refused changes nothing, and what may not be seen is not named."""

from typing import Any

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.groups import BY_NAME, COMMIT, FIND_GROUP, JOIN_CONSUMER
from tests.rigs.sample_requests.sample import GROUP, TOPIC, Sample
from tidelog.base.errors import ErrorCode
from tidelog.metadata.topics.names import CONSUMER_OFFSETS
from tidelog.security.acls.vocabulary import OPERATIONS_ON, Operation, Permission, ResourceType
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import offset_commit, offset_fetch
from tidelog.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.heartbeat import HeartbeatRequest
from tidelog.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.wire.messages.list_groups import ListGroupsRequest

ALICE = "User:alice"
SECRET = "secret"
READ, DESCRIBE = Operation.READ, Operation.DESCRIBE
ON_GROUP, ON_TOPIC = ResourceType.GROUP, ResourceType.TOPIC


async def send(cluster: AuthorizedCluster, principal: str, sample: Sample) -> Any:
    return await cluster.ask(principal, sample.key, sample.request, sample.version)


async def start(cluster: AuthorizedCluster) -> None:
    for topic in (TOPIC, SECRET):
        await cluster.create_topic(topic)
    await send(cluster, ADMIN, FIND_GROUP)


def commit(*topics: str) -> offset_commit.OffsetCommitRequest:
    partitions = [offset_commit.OffsetCommitRequestPartition(committed_offset=7)]
    return offset_commit.OffsetCommitRequest(
        group_id=GROUP,
        topics=[
            offset_commit.OffsetCommitRequestTopic(name=topic, partitions=partitions) for topic in topics
        ],
    )


def committed_codes(answer: Any) -> dict[str, int]:
    return {topic.name: topic.partitions[0].error_code for topic in answer.topics}


def fetch(*topics: str) -> offset_fetch.OffsetFetchRequest:
    """Of these topics, or without any of all."""
    named = [offset_fetch.OffsetFetchRequestTopics(name=topic, partition_indexes=[0]) for topic in topics]
    group = offset_fetch.OffsetFetchRequestGroup(group_id=GROUP, topics=named or None)
    return offset_fetch.OffsetFetchRequest(groups=[group])


def offsets(answer: Any) -> dict[str, tuple[int, int]]:
    [group] = answer.groups
    assert not group.error_code
    return {
        topic.name: (topic.partitions[0].committed_offset, topic.partitions[0].error_code)
        for topic in group.topics
    }


def test_a_client_without_permission_creates_no_coordinator() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        twice = FindCoordinatorRequest(coordinator_keys=[GROUP, GROUP])
        coordinator, _ = (await cluster.ask(ALICE, ApiKey.FIND_COORDINATOR, twice)).coordinators
        assert coordinator.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert (coordinator.node_id, coordinator.host) == (-1, "")
        assert CONSUMER_OFFSETS not in cluster.services().metadata.image.topics

    with_cluster(life)


def test_offsets_of_topics_that_the_client_may_not_read_are_not_committed() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        refused = await cluster.ask(ALICE, ApiKey.OFFSET_COMMIT, commit(TOPIC, SECRET), BY_NAME)
        assert set(committed_codes(refused).values()) == {ErrorCode.GROUP_AUTHORIZATION_FAILED}
        await cluster.allow(ALICE, READ, ON_GROUP, GROUP)
        await cluster.allow(ALICE, READ, ON_TOPIC, TOPIC)
        partly = await cluster.ask(ALICE, ApiKey.OFFSET_COMMIT, commit(TOPIC, SECRET, "none"), BY_NAME)
        assert committed_codes(partly) == {
            TOPIC: ErrorCode.NONE,
            SECRET: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "none": ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        }
        stored = await cluster.ask(ADMIN, ApiKey.OFFSET_FETCH, fetch(), BY_NAME)
        assert offsets(stored) == {TOPIC: (7, 0)}

    with_cluster(life)


def test_offsets_are_shown_only_of_topics_that_the_client_may_see() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        await cluster.ask(ADMIN, ApiKey.OFFSET_COMMIT, commit(TOPIC, SECRET), BY_NAME)
        await cluster.allow(ALICE, DESCRIBE, ON_GROUP, GROUP)
        await cluster.allow(ALICE, DESCRIBE, ON_TOPIC, TOPIC)
        hidden = (-1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        assert offsets(await cluster.ask(ALICE, ApiKey.OFFSET_FETCH, fetch(), BY_NAME)) == {TOPIC: (7, 0)}
        named = await cluster.ask(ALICE, ApiKey.OFFSET_FETCH, fetch(TOPIC, SECRET, "none"), BY_NAME)
        assert offsets(named) == {TOPIC: (7, 0), SECRET: hidden, "none": hidden}

        old = offset_fetch.OffsetFetchRequest(group_id=GROUP, topics=None)
        answer = await cluster.ask(ALICE, ApiKey.OFFSET_FETCH, old, 7)
        assert [topic.name for topic in answer.topics] == [TOPIC]
        await cluster.revoke(ALICE)
        asked = [offset_fetch.OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        oldest = offset_fetch.OffsetFetchRequest(group_id=GROUP, topics=asked)
        answer = await cluster.ask(ALICE, ApiKey.OFFSET_FETCH, oldest, 1)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED

    with_cluster(life)


def test_topics_by_id_are_refused_without_their_names() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        await cluster.allow(ALICE, READ, ON_GROUP, GROUP)
        topic_id = cluster.services().metadata.image.topics[SECRET].id
        partitions = [offset_commit.OffsetCommitRequestPartition(committed_offset=7)]
        wanted = offset_commit.OffsetCommitRequest(
            group_id=GROUP,
            topics=[
                offset_commit.OffsetCommitRequestTopic(topic_id=id, partitions=partitions)
                for id in (topic_id, b"n" * 16)
            ],
        )
        answer = await cluster.ask(ALICE, ApiKey.OFFSET_COMMIT, wanted)
        codes = [topic.partitions[0].error_code for topic in answer.topics]
        assert codes == [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_TOPIC_ID]
        asked = [
            offset_fetch.OffsetFetchRequestTopics(topic_id=id, partition_indexes=[0])
            for id in (topic_id, b"n" * 16)
        ]
        group = offset_fetch.OffsetFetchRequestGroup(group_id=GROUP, topics=asked)
        answer = await cluster.ask(
            ALICE, ApiKey.OFFSET_FETCH, offset_fetch.OffsetFetchRequest(groups=[group])
        )
        shown = {topic.topic_id: topic.partitions[0].error_code for topic in answer.groups[0].topics}
        assert shown == {
            topic_id: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            b"n" * 16: ErrorCode.UNKNOWN_TOPIC_ID,
        }

    with_cluster(life)


def test_a_classic_member_is_refused_with_its_next_heartbeat() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        await cluster.allow(ALICE, READ, ON_GROUP, GROUP)
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        join = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=protocols,
        )
        joined = await cluster.ask(ALICE, ApiKey.JOIN_GROUP, join, 3)
        assert not joined.error_code
        beat = HeartbeatRequest(
            group_id=GROUP, generation_id=joined.generation_id, member_id=joined.member_id
        )
        code = (await cluster.ask(ALICE, ApiKey.HEARTBEAT, beat)).error_code
        assert code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
        await cluster.revoke(ALICE)
        refused = await cluster.ask(ALICE, ApiKey.HEARTBEAT, beat)
        assert refused.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED

    with_cluster(life)


def test_a_consumer_by_regular_expression_sees_what_it_may_see() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        await cluster.allow(ALICE, READ, ON_GROUP, GROUP)
        await cluster.allow(ALICE, READ, ON_TOPIC, TOPIC)
        topics = cluster.services().metadata.image.topics

        async def beat(epoch: int, **fields: Any) -> Any:
            request = ConsumerGroupHeartbeatRequest(
                group_id=GROUP,
                member_id="m",
                member_epoch=epoch,
                rebalance_timeout_ms=60_000,
                topic_partitions=[],
                **fields,
            )
            return await cluster.ask(ALICE, ApiKey.CONSUMER_GROUP_HEARTBEAT, request)

        named = await beat(0, subscribed_topic_names=[TOPIC, SECRET])
        assert named.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        answer = await beat(0, subscribed_topic_regex="orders|secret")
        assert [part.topic_id for part in answer.assignment.topic_partitions] == [topics[TOPIC].id]
        await cluster.allow(ALICE, READ, ON_TOPIC, SECRET)
        answer = await beat(answer.member_epoch, subscribed_topic_regex="orders|secret")
        assert {part.topic_id for part in answer.assignment.topic_partitions} == {
            topics[TOPIC].id,
            topics[SECRET].id,
        }
        await cluster.allow(ALICE, READ, ON_GROUP, GROUP, permission=Permission.DENY)
        answer = await beat(answer.member_epoch)
        assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED

    with_cluster(life, **{"group.consumer.assignment.interval.ms": "0"})


def test_groups_are_listed_and_described_as_far_as_the_client_may_see_them() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        await send(cluster, ADMIN, COMMIT)
        assert not (await cluster.ask(ALICE, ApiKey.LIST_GROUPS, ListGroupsRequest())).groups
        await cluster.allow(ALICE, Operation.DELETE, ON_GROUP, GROUP)
        [listed] = (await cluster.ask(ALICE, ApiKey.LIST_GROUPS, ListGroupsRequest())).groups
        assert listed.group_id == GROUP
        wanted = DescribeGroupsRequest(groups=[GROUP, "other"], include_authorized_operations=True)
        shown, other = (await cluster.ask(ALICE, ApiKey.DESCRIBE_GROUPS, wanted)).groups
        assert not shown.error_code
        assert shown.authorized_operations == 1 << Operation.DELETE | 1 << DESCRIBE
        assert other.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        [everything, _] = (await cluster.ask(ADMIN, ApiKey.DESCRIBE_GROUPS, wanted)).groups
        assert everything.authorized_operations == sum(1 << one for one in OPERATIONS_ON[ON_GROUP])

    with_cluster(life)


def test_a_refused_member_leaves_no_trace() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await start(cluster)
        answer = await send(cluster, ALICE, JOIN_CONSUMER)
        assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert not (await cluster.ask(ADMIN, ApiKey.LIST_GROUPS, ListGroupsRequest())).groups

    with_cluster(life)
