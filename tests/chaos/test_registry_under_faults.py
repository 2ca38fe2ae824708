"""The schema registry while the leader of `_schemas` is killed, paused and full: what was answered stays.

No id is given twice, and a schema that all brokers get at once has one id. At the end all brokers die.
"""

import pytest

from tests.chaos.peer_links import free_ports
from tests.chaos.process_cluster import PATIENCE_S, Member, ProcessCluster
from tests.chaos.registry_crowd import Answered, RegistryCrowd
from tests.chaos.small_disk import NoSmallDisk
from tests.chaos.victim import wait_until
from tidelog.metadata.topics.names import SCHEMAS


@pytest.mark.timeout(300)
def test_no_answer_is_lost_and_no_id_given_twice(make_cluster) -> None:
    cluster: ProcessCluster = make_cluster(schema_registry_topic_replication_factor=3)
    ports = free_ports(3)
    for member, port in zip(cluster.members.values(), ports, strict=True):
        member.set("schema.registry.port", port)
    has_small_disks = _give_small_disks(cluster)
    cluster.start()
    crowd = RegistryCrowd(ports)
    with crowd.working():
        crowd.until_answered(60)
        killed = leading(cluster)
        killed.kill()
        until_another_leads(cluster, killed)
        crowd.until_answered(40)
        cluster.launch_missing()
        cluster.until_whole()
        crowd.until_answered(20)
        paused = leading(cluster)
        paused.pause()
        until_another_leads(cluster, paused)
        crowd.until_answered(40)
        paused.resume()
        cluster.until_whole()
        crowd.until_answered(20)
        if has_small_disks:
            full = leading(cluster)
            assert full.disk is not None
            full.disk.fill()
            until_another_leads(cluster, full)
            crowd.until_answered(40)
            full.disk.free()
            cluster.until_whole()
            crowd.until_answered(20)
        for member in cluster.members.values():
            member.kill()
    cluster.launch_missing()
    cluster.until_ready()
    cluster.until_whole()
    problems = list(crowd.problems())
    assert not problems, "\n".join(problems[:20])
    after = RegistryCrowd(ports)
    after.answered = list(crowd.answered)  # ids that are given from now on are compared with all before
    with after.working():
        after.until_answered(20)
    problems = list(after.problems())
    assert not problems, "\n".join(problems[:20])
    assert "Traceback" not in "".join(member.log_text() for member in cluster.members.values())


def _give_small_disks(cluster: ProcessCluster) -> bool:
    try:
        for member in cluster.members.values():
            member.give_small_disk(megabytes=24)
    except NoSmallDisk:
        return False
    return True


def leading(cluster: ProcessCluster) -> Member:
    return cluster.members[cluster.leader(SCHEMAS)]


def until_another_leads(cluster: ProcessCluster, member: Member) -> None:
    wait_until(
        lambda: cluster.leader(SCHEMAS) != member.node_id, f"another broker leads {SCHEMAS}", PATIENCE_S
    )


def test_answers_that_do_not_agree_are_noticed() -> None:
    crowd = RegistryCrowd(ports=[])
    crowd.answered = [Answered("a", "A", 1, 1), Answered("b", "A", 1, 1)]
    assert list(crowd.problems()) == []
    crowd.answered += [Answered("c", "C", 1, 1), Answered("d", "A", 2, 1), Answered("e", "E", 3, 2)]
    assert list(crowd.problems()) == [
        "the id 1 is A and C",
        "e has one schema, and it became version 2",
        "3 ids for 2 schemas",
    ]
