"""Three replicas are killed one after the other; an eligible one that comes back leads, and nothing is lost.

A fourth broker keeps the metadata, so that somebody is left who can tell who was in sync last.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic

from tests.chaos.process_cluster import PATIENCE_S, ProcessCluster
from tests.chaos.replica_files import differing_replicas
from tests.chaos.victim import wait_until
from tests.faults.log_calls import batch, produce, read_all
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponsePartition,
    TopicRequest,
)

pytestmark = pytest.mark.timeout(300)

CONTROLLER = 1
NOBODY = -1


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ProcessCluster]:
    # A process that is killed keeps its word under fsync: what it acknowledged is on its disk.
    made = ProcessCluster(tmp_path, brokers=4, settings={"durability": "fsync"})
    for member in made.members.values():
        member.voters = made.voters.split(",")[0]
    made.start()
    made.admin.create_topics([NewTopic("t", 1, replica_assignment=[[2, 3, 4]])])["t"].result(PATIENCE_S)
    made.until_whole()
    yield made
    made.end()


def described(cluster: ProcessCluster) -> DescribeTopicPartitionsResponsePartition:
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="t")], response_partition_limit=10)
    with RawClient(cluster.members[CONTROLLER].port) as client:
        answer = client.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, request)
    found: DescribeTopicPartitionsResponsePartition = answer.topics[0].partitions[0]
    return found


def state(cluster: ProcessCluster) -> tuple[int, list[int], list[int]]:
    partition = described(cluster)
    return partition.leader_id, partition.isr_nodes, partition.eligible_leader_replicas or []


def until(cluster: ProcessCluster, *wanted: object) -> None:
    wait_until(
        lambda: state(cluster) == wanted,
        lambda: f"leader, ISR and ELR are {wanted}: {state(cluster)}\n{cluster.log_tails()}",
        PATIENCE_S,
    )


def write(cluster: ProcessCluster, value: bytes, acks: int = -1) -> ErrorCode:
    """The controller knows of a leader a moment before that one does: clients try again."""
    found = ErrorCode.NOT_LEADER_OR_FOLLOWER

    def is_answered() -> bool:
        nonlocal found
        with RawClient(cluster.members[described(cluster).leader_id].port) as client:
            found = ErrorCode(produce(client, "t", batch(value), acks=acks).error_code)
        return found is not ErrorCode.NOT_LEADER_OR_FOLLOWER

    wait_until(is_answered, "a leader answers", PATIENCE_S)
    return found


def test_nothing_acknowledged_is_lost_when_replicas_die_one_after_the_other(cluster: ProcessCluster) -> None:
    assert write(cluster, b"on three") is ErrorCode.NONE
    cluster.members[2].kill()
    until(cluster, 3, [3, 4], [])
    assert write(cluster, b"on two") is ErrorCode.NONE
    cluster.members[3].kill()
    until(cluster, 4, [4], [3])
    assert write(cluster, b"refused") is ErrorCode.NOT_ENOUGH_REPLICAS
    assert write(cluster, b"on one", acks=1) is ErrorCode.NONE, "it promises nothing"
    cluster.members[4].kill()
    until(cluster, NOBODY, [], [3, 4])
    assert described(cluster).last_known_elr == [4]

    cluster.members[2].launch()
    cluster.members[2].until_ready(PATIENCE_S)
    assert state(cluster) == (NOBODY, [], [3, 4]), "it misses what the others took without it"

    cluster.members[3].launch()
    cluster.members[3].until_ready(PATIENCE_S)
    wait_until(lambda: described(cluster).leader_id == 3, "the eligible replica leads", PATIENCE_S)
    wait_until(lambda: sorted(described(cluster).isr_nodes) == [2, 3], "broker 2 catches up", PATIENCE_S)
    # The leader takes a larger in-sync set from the metadata, a moment after the controller.
    wait_until(lambda: write(cluster, b"after") is ErrorCode.NONE, "two replicas are enough", PATIENCE_S)
    assert state(cluster)[2] == [], "enough are in sync: others fall behind now"

    cluster.members[4].launch()
    cluster.until_whole()
    with RawClient(cluster.members[described(cluster).leader_id].port) as client:
        assert [record.value for record in read_all(client, "t")] == [b"on three", b"on two", b"after"]
    for member in cluster.members.values():
        assert member.terminate() == 0
    replicas = [cluster.members[node_id].data for node_id in (2, 3, 4)]
    assert not list(differing_replicas(replicas, "t-0"))
