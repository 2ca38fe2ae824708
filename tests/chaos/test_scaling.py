"""A cluster grows from three brokers to five and shrinks back to three: no request fails, nothing is lost."""

import pytest

from tests.chaos.campaign import campaign
from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.victim import wait_until
from tests.interop.fleet_process import run_tidelog
from tidelog.testing.history import Completion

pytestmark = pytest.mark.timeout(300)


def run(cluster: ProcessCluster, *arguments: str) -> str:
    done = run_tidelog(cluster.bootstrap_servers, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def held(cluster: ProcessCluster) -> dict[int, int]:
    """The number of replicas of each registered broker."""
    seen = cluster.seen()
    assert seen is not None
    found = dict.fromkeys(seen.brokers, 0)
    for topic in seen.topics.values():
        for partition in topic.partitions.values():
            for broker in partition.replicas:
                found[broker] = found.get(broker, 0) + 1
    return found


def test_from_three_to_five_and_back(make_cluster) -> None:
    cluster = make_cluster(
        broker_session_timeout_ms=20_000,  # no broker dies here, on a busy machine neither
        controller_quorum_election_timeout_ms=3_000,
        shutdown_grace_ms=20_000,
        broker_rack="",  # as Kubernetes gives it on a node without a zone
    )
    cluster.start()
    with campaign(cluster, "scaling", longest_s=0) as load:
        load.begin()
        for member in [cluster.add(4), cluster.add(5)]:
            member.launch()
        cluster.until_ready()
        run(cluster, "cluster", "rebalance")
        cluster.until_whole()
        counts = held(cluster)
        assert min(counts[4], counts[5]) > 0
        assert max(counts.values()) - min(counts.values()) <= 1
        load.crowd.until_writing()

        drained = run(cluster, "cluster", "drain", "4", "5")
        assert "Brokers 4 and 5 hold no replicas any more." in drained
        cluster.create_topic("later", 10)
        wait_until(lambda: sum(held(cluster).values()) >= 30 + 9, "the new topic is known", 30, pause_s=0.1)
        assert {held(cluster)[4], held(cluster)[5]} == {0}
        leaving = [cluster.members.pop(4), cluster.members.pop(5)]
        for member in leaving:
            member.ask_to_stop()  # both at once, as a StatefulSet does
        for member in leaving:
            assert member.until_ended() == 0, member.log_tail()
            assert "stopping anyway" not in member.log_text()
        load.crowd.until_writing()
        cluster.until_whole()
        assert sorted(held(cluster)) == [1, 2, 3]
        assert "draining" not in run(cluster, "cluster", "brokers")
        members = run(cluster, "cluster", "quorum", "--json")
        assert members.count('"voter"') == 2  # and the leader

        # Scaled out once more, on the volume of before: the broker is new to the cluster, and empty.
        again = cluster.members[4] = leaving[0]
        again.launch()
        again.until_ready()
        cluster.until_whole()
        assert held(cluster)[4] == 0
        assert not list(again.data.glob("t-[0-9]"))
        assert "draining" not in run(cluster, "cluster", "brokers")
        assert cluster.members.pop(4).terminate() == 0
        problems = load.problems()
        assert not problems, "\n".join(problems[:20])
        assert load.crowd.count(Completion.INFO) == 0
