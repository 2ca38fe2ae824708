"""Brokers that must not take part are refused, with the reason; the cluster goes on as if nothing was."""

from pathlib import Path

import pytest

from tests.chaos.campaign import campaign
from tests.chaos.peer_links import HOST, free_ports
from tests.chaos.process_cluster import PATIENCE_S, Member, ProcessCluster
from tests.chaos.victim import Victim
from tests.faults.raw_client import RawClient
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def cluster(make_cluster) -> ProcessCluster:
    made = make_cluster()
    made.start()
    return made


def stranger(cluster: ProcessCluster, directory: Path, node_id: int, voters: str | None = None) -> Member:
    """One more broker that knows the cluster's voters."""
    member = Member(directory, node_id, tuple(free_ports(2)), cluster.settings)
    member.links_port = member.peer_port
    member.voters = cluster.voters if voters is None else voters
    return member


def refused(broker: Victim) -> str:
    """What it said; it must end by itself, with an error that is no traceback."""
    try:
        assert broker.until_ended(PATIENCE_S) != 0
    finally:
        broker.kill()
    told = broker.log_text()
    assert "Traceback" not in told
    return told


def test_of_two_with_one_id_the_second_goes(cluster: ProcessCluster, tmp_path: Path) -> None:
    with campaign(cluster, "two", longest_s=0) as run:
        run.begin()
        second = stranger(cluster, tmp_path / "second", 2)
        second.launch()
        told = refused(second)
        assert "2 is alive" in told
        assert str(cluster.members[2].links_port) in told, "it says where"
        run.crowd.until_writing()
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])


def test_data_of_another_cluster(cluster: ProcessCluster, tmp_path: Path) -> None:
    for node_id in (3, 4):  # a voter, and one without a vote
        other = stranger(cluster, tmp_path / f"other-{node_id}", node_id, voters="")
        other.start()
        assert other.terminate() == 0
        if node_id in cluster.members:
            cluster.members[node_id].kill()
        other.voters = cluster.voters
        other.launch()
        told = refused(other)
        assert "another cluster" in told
    cluster.heal()
    cluster.until_whole()


def test_a_voter_list_that_disagrees(cluster: ProcessCluster, tmp_path: Path) -> None:
    """What the cluster has agreed on goes before what a file says."""
    third = cluster.members[3]
    assert third.terminate() == 0
    third.voters = f"3@{HOST}:{third.links_port},7@{HOST}:1,8@{HOST}:1"
    third.start()
    cluster.until_whole()
    # One more broker that takes itself for a voter in the place of another: it follows, and has no vote.
    fourth = stranger(cluster, tmp_path / "fourth", 4)
    fourth.voters = cluster.voters.replace(f"3@{HOST}:{third.links_port}", f"4@{HOST}:{fourth.links_port}")
    try:
        fourth.start()
        with RawClient(cluster.members[1].port) as client:
            answer = client.ask(ApiKey.DESCRIBE_QUORUM, whole_quorum())
        [[quorum]] = [topic.partitions for topic in answer.topics]
        assert sorted(voter.replica_id for voter in quorum.current_voters) == [1, 2, 3]
        assert [observer.replica_id for observer in quorum.observers] == [4]
    finally:
        fourth.kill()


def whole_quorum() -> DescribeQuorumRequest:
    partition = DescribeQuorumRequestPartitionData(partition_index=0)
    topic = DescribeQuorumRequestTopicData(topic_name="__cluster_metadata", partitions=[partition])
    return DescribeQuorumRequest(topics=[topic])


def test_damaged_metadata_log(cluster: ProcessCluster) -> None:
    broker = cluster.members[1]
    assert broker.terminate() == 0
    [log] = (broker.data / "__cluster_metadata-0").glob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 3] ^= 0x40
    log.write_bytes(content)
    broker.launch()
    told = refused(broker)
    assert str(log) in told
    # What the message says helps: the others have everything.
    broker.lose_data()
    broker.start()
    cluster.until_whole()
