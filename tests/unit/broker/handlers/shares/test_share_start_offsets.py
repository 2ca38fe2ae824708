"""ShareStartOffsets: every group with a state at the topic, and where it stands in the wanted partitions."""

from tests.rigs.authorized_cluster import BROKER, BROKERS, AuthorizedCluster, with_cluster
from tidelog.shares.states import NO_START_OFFSET
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import initialize_share_group_state as initialize
from tidelog.wire.messages.share_start_offsets import ShareStartOffsetsRequest, ShareStartTopic


async def begin(cluster: AuthorizedCluster, group: str, topic_id: bytes, starts: dict[int, int]) -> None:
    persister = cluster.services().persister
    assert persister is not None
    partitions = [
        initialize.PartitionData(partition=index, state_epoch=1, start_offset=start)
        for index, start in starts.items()
    ]
    answer = await cluster.loop.spawn(
        cluster.machines[0].life,
        persister.initialize(
            initialize.InitializeShareGroupStateRequest(
                group_id=group,
                topics=[initialize.InitializeStateData(topic_id=topic_id, partitions=partitions)],
            )
        ),
        name="a group begins",
    )
    assert not any(one.error_code for topic in answer.results for one in topic.partitions), answer


def test_groups_are_named_even_where_they_have_no_state_at_the_wanted_partition() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        jobs, other = await cluster.create_topic("jobs", 2), await cluster.create_topic("other")
        await begin(cluster, "fast", jobs, {0: 70, 1: 5})
        await begin(cluster, "new", jobs, {0: NO_START_OFFSET})
        await begin(cluster, "elsewhere", jobs, {1: 9})
        await begin(cluster, "stranger", other, {0: 3})
        wanted = ShareStartOffsetsRequest(topics=[ShareStartTopic(topic_id=jobs, partitions=[0])])
        answer = await cluster.ask(cluster.connection(BROKER, BROKERS), ApiKey.SHARE_START_OFFSETS, wanted)
        states = cluster.services().metadata.image.topics["__share_group_state"].partitions
        assert {(one.state_partition, one.leader_epoch) for one in answer.shards} == {
            (partition.index, partition.leader_epoch) for partition in states
        }
        found: dict[str, list[tuple[int, int]]] = {}
        for shard in answer.shards:
            for group in shard.groups:
                assert group.topic_id == jobs
                found.setdefault(group.group_id, []).extend(
                    (one.partition, one.start_offset) for one in group.partitions
                )
        assert found == {"fast": [(0, 70)], "new": [(0, NO_START_OFFSET)], "elsewhere": []}

    with_cluster(life, share_coordinator_state_topic_num_partitions="3")
