"""Brokers that must not take part are refused, with the reason; the cluster goes on as if nothing was."""

from pathlib import Path

import pytest
from campaign import campaign
from peer_links import free_ports
from process_cluster import PATIENCE_S, Member, ProcessCluster
from victim import Victim


@pytest.fixture
def cluster(make_cluster) -> ProcessCluster:
    made = make_cluster()
    made.start()
    return made


def stranger(cluster: ProcessCluster, folder: Path, node_id: int, voters: str | None = None) -> Member:
    """One more broker that knows the cluster's voters."""
    member = Member(folder, node_id, tuple(free_ports(2)), cluster.settings)
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
        assert "another broker with node.id 2 is alive" in told
        assert cluster.members[2].address in told
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
