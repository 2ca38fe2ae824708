"""Share groups at brokers: members get partitions at once, and share state comes and goes with groups."""

import asyncio
from types import SimpleNamespace
from typing import Any

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.persister import FakePersister, Stored
from tests.rigs.sample_requests.shares import FIND_GROUP, SHARE_GROUP
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.shares import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_group_describe,
    share_group_heartbeat,
)
from tidelog.broker.handlers.shares.partition_ends import partition_ends
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import alter_share_group_offsets as alter
from tidelog.wire.messages import delete_share_group_offsets as delete
from tidelog.wire.messages import describe_share_group_offsets as describe
from tidelog.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.list_groups import ListGroupsRequest
from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest
from tidelog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

TOPIC = "orders"
AT_ONCE = {"group.share.assignment.interval.ms": "0"}


class Team:
    def __init__(self, cluster: AuthorizedCluster, topic_id: bytes) -> None:
        self.cluster, self.topic_id = cluster, topic_id
        self.persister = FakePersister()
        services: Any = cluster.services()
        services.persister = self.persister

    async def ask(self, key: ApiKey, request: Any, version: int | None = None) -> Any:
        return await self.cluster.ask(ADMIN, key, request, version)

    async def beat(self, member: str, epoch: int = 0, *topics: str) -> Any:
        request = ShareGroupHeartbeatRequest(
            group_id=SHARE_GROUP,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=list(topics or (TOPIC,)) if epoch == 0 else None,
        )
        return await self.ask(ApiKey.SHARE_GROUP_HEARTBEAT, request)

    async def delete_group(self) -> int:
        answer = await self.ask(ApiKey.DELETE_GROUPS, DeleteGroupsRequest(groups_names=[SHARE_GROUP]))
        return answer.results[0].error_code  # type: ignore[no-any-return]

    async def alter(self, offset: int, partition: int = 0, topic: str = TOPIC) -> Any:
        partitions = [
            alter.AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)
        ]
        topics = [alter.AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)]
        request = alter.AlterShareGroupOffsetsRequest(group_id=SHARE_GROUP, topics=topics)
        return await self.ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, request)

    async def delete_offsets(self, *topics: str) -> Any:
        request = delete.DeleteShareGroupOffsetsRequest(
            group_id=SHARE_GROUP,
            topics=[delete.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics],
        )
        return await self.ask(ApiKey.DELETE_SHARE_GROUP_OFFSETS, request)

    async def offsets(self, topics: dict[str, list[int]] | None, version: int = 1) -> Any:
        named = [
            describe.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers)
            for name, numbers in (topics or {}).items()
        ]
        group = describe.DescribeShareGroupOffsetsRequestGroup(
            group_id=SHARE_GROUP, topics=None if topics is None else named
        )
        request = describe.DescribeShareGroupOffsetsRequest(groups=[group])
        return (await self.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, request, version)).groups[0]

    @property
    def states(self) -> Any:
        served = self.cluster.services().groups.of(SHARE_GROUP)
        return served.shard.durable.share_groups[SHARE_GROUP].states


def with_team(life: Any, **settings: str) -> None:
    async def start(cluster: AuthorizedCluster) -> None:
        topic_id = await cluster.create_topic(TOPIC)
        await cluster.ask(ADMIN, FIND_GROUP.key, FIND_GROUP.request)
        await life(Team(cluster, topic_id))

    with_cluster(start, **settings)


def assigned(answer: Any) -> list[int]:
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return [number for topic in answer.assignment.topic_partitions for number in topic.partitions]


def test_a_new_member_gets_partitions_with_its_first_answer() -> None:
    async def life(team: Team) -> None:
        first = await team.beat("one")
        assert assigned(first) == [0]
        assert first.member_epoch == 2
        assert team.persister.states == {(SHARE_GROUP, team.topic_id, 0): Stored(1, -1)}
        assert (await team.beat("one", 2)).assignment is None
        assert team.persister.calls == ["initialize"]
        described = await team.ask(
            ApiKey.SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest(group_ids=[SHARE_GROUP, ""])
        )
        found, refused = described.groups
        assert (found.group_state, found.assignor_name, found.group_epoch) == ("Stable", "simple", 2)
        [member] = found.members
        assert member.assignment.topic_partitions[0].topic_name == TOPIC
        assert refused.error_code == ErrorCode.INVALID_GROUP_ID
        listed = await team.ask(ApiKey.LIST_GROUPS, ListGroupsRequest(types_filter=["share"]))
        assert [(one.group_id, one.group_type) for one in listed.groups] == [(SHARE_GROUP, "share")]

    with_team(life)


def test_members_that_join_while_state_is_made_wait_for_it_too() -> None:
    async def life(team: Team) -> None:
        team.persister.held = asyncio.Event()
        joins = [asyncio.ensure_future(team.beat(name)) for name in ("one", "two")]
        await asyncio.sleep(1)
        assert not any(join.done() for join in joins)
        team.persister.held.set()
        for join in joins:
            assert assigned(await join) == [0]

    with_team(life, **AT_ONCE)


def test_a_slow_persister_holds_up_a_member_for_a_while_only() -> None:
    async def life(team: Team) -> None:
        team.persister.held = asyncio.Event()
        first = await team.beat("one")
        assert (first.member_epoch, assigned(first)) == (1, [])
        assert (await team.beat("one", 1)).assignment is None  # a heartbeat does not wait
        team.persister.held.set()
        await asyncio.sleep(1)
        assert assigned(await team.beat("one", 1)) == [0]

    with_team(life)


def test_a_persister_that_fails_is_asked_again() -> None:
    async def life(team: Team) -> None:
        team.persister.refuses = ErrorCode.NOT_COORDINATOR
        assert assigned(await team.beat("one")) == []
        team.persister.refuses = ErrorCode.NONE
        await team.beat("one", 1)
        await asyncio.sleep(1)
        assert assigned(await team.beat("one", 1)) == [0]

    with_team(life)


def test_a_group_is_deleted_after_its_state() -> None:
    async def life(team: Team) -> None:
        await team.beat("one")
        assert await team.delete_group() == ErrorCode.NON_EMPTY_GROUP
        await team.beat("one", -1)
        team.persister.refuses = ErrorCode.NOT_COORDINATOR
        assert await team.delete_group() == ErrorCode.NOT_COORDINATOR
        assert team.states.deleting == {team.topic_id: TOPIC}  # it is noted, and done with the next request
        team.persister.refuses = ErrorCode.NONE
        assert await team.delete_group() == ErrorCode.NONE
        assert team.persister.states == {}
        assert await team.delete_group() == ErrorCode.GROUP_ID_NOT_FOUND

    with_team(life)


def test_state_that_a_crash_left_over_is_deleted() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        topic_id = await cluster.create_topic(TOPIC)
        await cluster.ask(ADMIN, FIND_GROUP.key, FIND_GROUP.request)
        persister: Any = cluster.services().persister
        team = Team(cluster, topic_id)
        services: Any = cluster.services()
        services.persister = persister  # the real one: state outlives the broker
        assert assigned(await team.beat("one")) == [0]
        await team.beat("one", -1)
        assert (await team.alter(7)).error_code == ErrorCode.NONE
        services.persister = team.persister
        team.persister.held = asyncio.Event()
        deletion = asyncio.ensure_future(team.delete_group())
        await asyncio.sleep(1)
        assert team.states.deleting == {topic_id: TOPIC}
        machine = cluster.machines[0]
        machine.kill()
        deletion.cancel()
        machine.start()
        await cluster.until(lambda: machine.serves, "the broker serves again")
        await asyncio.sleep(5)
        assert team.states == ({}, {}, {})
        [topic] = (await team.offsets({TOPIC: [0]})).topics
        assert topic.partitions[0].start_offset == -1

    with_cluster(life, **AT_ONCE)


def test_offsets_are_altered_and_shown_with_their_lag() -> None:
    async def life(team: Team) -> None:
        await team.beat("one")
        assert (await team.alter(5)).error_code == ErrorCode.NON_EMPTY_GROUP
        await team.beat("one", -1)
        epoch = team.persister.states[SHARE_GROUP, team.topic_id, 0].state_epoch
        [topic] = (await team.alter(5)).responses
        assert (topic.topic_id, topic.partitions[0].error_code) == (team.topic_id, ErrorCode.NONE)
        stored = team.persister.states[SHARE_GROUP, team.topic_id, 0]
        assert stored.start_offset == 5
        assert stored.state_epoch > epoch
        for partition, name in ((9, TOPIC), (0, "gone")):
            [topic] = (await team.alter(5, partition, name)).responses
            assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        [topic] = (await team.alter(-7)).responses
        assert topic.partitions[0].error_code == ErrorCode.INVALID_REQUEST

        led = team.cluster.services().partitions.led(TOPIC, 0)
        assert led is not None
        team.persister.states[SHARE_GROUP, team.topic_id, 0] = stored._replace(
            start_offset=-20, leader_epoch=3, delivery_complete_count=4
        )
        for asked in (None, {TOPIC: [0]}):
            [topic] = (await team.offsets(asked)).topics
            [partition] = topic.partitions
            assert (partition.start_offset, partition.leader_epoch) == (-20, 3)
            assert partition.lag == led.high_watermark + 20 - 4
        [topic] = (await team.offsets({"gone": [0, 1]})).topics
        assert [(one.start_offset, one.lag, one.error_code) for one in topic.partitions] == [(-1, -1, 0)] * 2
        [topic] = (await team.offsets({TOPIC: [3]})).topics
        assert (topic.partitions[0].start_offset, topic.partitions[0].lag) == (-1, -1)
        assert (await team.offsets({})).topics == []
        team.persister.refuses = ErrorCode.NOT_COORDINATOR
        [topic] = (await team.offsets(None, version=0)).topics
        assert topic.partitions[0].error_code == ErrorCode.NOT_COORDINATOR

    with_team(life)


def test_offsets_of_topics_are_deleted() -> None:
    async def life(team: Team) -> None:
        await team.beat("one")
        assert (await team.delete_offsets(TOPIC)).error_code == ErrorCode.NON_EMPTY_GROUP
        await team.beat("one", -1)
        team.persister.refuses = ErrorCode.NOT_COORDINATOR
        [topic] = (await team.delete_offsets(TOPIC)).responses
        assert topic.error_code == ErrorCode.NOT_COORDINATOR
        team.persister.refuses = ErrorCode.NONE
        deleted, gone = (await team.delete_offsets(TOPIC, "gone")).responses[::-1]
        assert (deleted.topic_id, deleted.error_code) == (team.topic_id, ErrorCode.NONE)
        assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert team.states == ({}, {}, {})
        [topic] = (await team.delete_offsets(TOPIC)).responses
        assert "no offset information" in topic.error_message
        assert assigned(await team.beat("one")) == [0]  # from where its settings say

    with_team(life, **AT_ONCE)


def test_a_deleted_topic_leaves_nothing_in_the_group() -> None:
    async def life(team: Team) -> None:
        await team.beat("one")
        deletion = DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=5_000)
        assert not (await team.ask(ApiKey.DELETE_TOPICS, deletion)).responses[0].error_code
        assert team.states == ({}, {}, {})
        assert assigned(await team.beat("one")) == []

    with_team(life)


def test_a_cluster_without_share_groups_refuses_them() -> None:
    metadata = SimpleNamespace(image=SimpleNamespace(features={}))
    services: Any = SimpleNamespace(
        metadata=metadata, authorizer=None, groups=SimpleNamespace(until_served=lambda group_id: None)
    )
    context = Context(services, ClientConnection("localhost", 1, "PLAINTEXT"), 0, "app")
    group = describe.DescribeShareGroupOffsetsRequestGroup(group_id="g")
    in_order = asyncio.run(
        _all(
            share_group_heartbeat.handle(context, ShareGroupHeartbeatRequest(group_id="g", member_id="m")),
            alter_share_group_offsets.handle(context, alter.AlterShareGroupOffsetsRequest(group_id="g")),
            delete_share_group_offsets.handle(context, delete.DeleteShareGroupOffsetsRequest(group_id="g")),
            describe_share_group_offsets.handle(
                context, describe.DescribeShareGroupOffsetsRequest(groups=[group])
            ),
        )
    )
    in_order[-1] = in_order[-1].groups[0]
    for answer in in_order:
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert "share.version" in answer.error_message
    described = asyncio.run(share_group_describe.handle(context, ShareGroupDescribeRequest(group_ids=["g"])))
    assert described.groups[0].error_code == ErrorCode.UNSUPPORTED_VERSION


async def _all(*answers: Any) -> list[Any]:
    return [await response_of(answer) for answer in answers]


def test_state_is_not_deleted_from_under_a_member_that_comes_back() -> None:
    async def life(team: Team) -> None:
        await team.beat("one")
        await team.beat("one", -1)
        held = team.persister.held = asyncio.Event()
        deletion = asyncio.ensure_future(team.delete_group())
        await asyncio.sleep(1)
        join = asyncio.ensure_future(team.beat("two"))
        await asyncio.sleep(1)
        assert team.persister.calls == ["initialize", "delete"]  # the new state waits its turn
        held.set()
        assert assigned(await join) == [0]
        assert await deletion == ErrorCode.NON_EMPTY_GROUP
        assert team.persister.states.keys() == {(SHARE_GROUP, team.topic_id, 0)}
        assert team.states.deleting == {}

    with_team(life, **AT_ONCE)


def test_a_deletion_that_comes_too_late_deletes_nothing() -> None:
    async def life(team: Team) -> None:
        await team.beat("one")
        await team.beat("one", -1)
        team.persister.refuses = ErrorCode.NOT_COORDINATOR
        await team.delete_group()
        team.persister.refuses = ErrorCode.NONE
        [to_delete] = team.cluster.services().groups.of(SHARE_GROUP).shard.share_states_to_delete()
        assert assigned(await team.beat("two")) == [0]
        states = team.cluster.services().group_states
        assert states is not None
        assert await states.delete(to_delete) == {}
        assert team.persister.states.keys() == {(SHARE_GROUP, team.topic_id, 0)}

    with_team(life, **AT_ONCE)


def test_the_lag_of_partitions_that_other_brokers_lead() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(TOPIC, partitions=4)
        services = cluster.services()
        leaders = {services.metadata.image.topics[TOPIC].partition(number).leader for number in range(4)}
        assert len(leaders) == 2
        places = [(TOPIC, number) for number in range(4)]
        await asyncio.sleep(2)  # until both have opened their logs
        life_of = cluster.machines[0].life
        assert life_of is not None
        ends = await cluster.loop.spawn(life_of, partition_ends(services, [*places, ("gone", 0)]))
        assert ends == dict.fromkeys(places, 0) | {("gone", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        other = cluster.machines[1]
        other.kill()
        ends = await cluster.loop.spawn(life_of, partition_ends(services, places))
        assert ErrorCode.NOT_LEADER_OR_FOLLOWER in ends.values()
        assert 0 in ends.values()

    with_cluster(life, brokers=2)


def test_no_state_is_looked_for_under_an_id_that_no_share_group_can_have() -> None:
    async def life(team: Team) -> None:
        topic = describe.DescribeShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=[0])
        group = describe.DescribeShareGroupOffsetsRequestGroup(group_id="g" * 8192, topics=[topic])
        request = describe.DescribeShareGroupOffsetsRequest(groups=[group])
        [answer] = (await team.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, request)).groups
        assert answer.error_code == ErrorCode.INVALID_GROUP_ID
        assert team.persister.calls == []

    with_team(life)
