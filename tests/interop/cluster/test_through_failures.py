"""Every client writes and reads through what happens to a cluster; nothing is lost, doubled or out of order.

Producers are idempotent and ask for all replicas; readers are members of groups, of both protocols.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.client_crowd import Crowd, names_of_clients
from tests.interop.cluster_under_test import ClusterUnderTest
from tests.interop.driver import EARLIEST
from tests.interop.waiting import eventually

TOPIC = "through-failures"
OFFSETS = "__consumer_offsets"
Healthy = Callable[[str], None]


@pytest.fixture(scope="module")
def crowd(connect: Callable[[str], Any], java: Any) -> Iterator[Crowd]:
    java.create_assigned(TOPIC, [[1, 2, 3]] * len(names_of_clients()))
    running = Crowd(connect, TOPIC)
    yield running
    running.close()


def leaders(reference: Any, topic: str = TOPIC) -> set[int]:
    return {part.leader for part in reference.describe_topic(topic).values()}


def leader(reference: Any) -> int:
    """The one that leads all partitions; where there are several, elect it first."""
    [found] = leaders(reference)
    return found


def all_lead(java: Any, reference: Any, crowd: Crowd, wanted: int) -> None:
    """Make one broker lead all partitions again."""
    if leaders(reference) != {wanted}:
        java.elect_leaders("PREFERRED", crowd.places)
        eventually(lambda: leaders(reference) == {wanted})


def test_the_leader_dies(
    crowd: Crowd, cluster: ClusterUnderTest, java: Any, reference: Any, healthy: Healthy
) -> None:
    crowd.goes_on()
    healthy(TOPIC)
    all_lead(java, reference, crowd, 1)
    cluster.kill(1)
    crowd.goes_on()
    assert 1 not in leaders(reference)
    cluster.start_broker(1)
    healthy(TOPIC)
    healthy(OFFSETS)
    crowd.goes_on()


def test_the_controller_dies(crowd: Crowd, cluster: ClusterUnderTest, java: Any, healthy: Healthy) -> None:
    crowd.goes_on()
    before = java.describe_quorum()
    cluster.kill(before.leader)
    eventually(lambda: java.describe_quorum().leader not in (before.leader, -1), 40)
    after = java.describe_quorum()
    assert after.epoch > before.epoch
    crowd.goes_on()
    cluster.start_broker(before.leader)
    healthy(TOPIC)
    healthy(OFFSETS)


def test_the_coordinator_dies(crowd: Crowd, cluster: ClusterUnderTest, java: Any, healthy: Healthy) -> None:
    """Groups go on where they were: members stay what they are, and committed offsets are kept."""
    crowd.goes_on()
    groups = crowd.groups
    [coordinator] = {java.coordinator(group) for group in groups.values()}
    for group in groups.values():  # some clients commit every few seconds only
        eventually(lambda group=group: len(java.group_offsets(group)) == len(crowd.writers), 40)  # type: ignore[misc]
    before = {who: java.group_offsets(group) for who, group in groups.items()}
    reread = crowd.rereads()
    cluster.kill(coordinator)
    crowd.goes_on()
    assert {java.coordinator(group) for group in groups.values()} != {coordinator}
    for who, group in groups.items():
        eventually(
            lambda who=who, group=group: all(  # type: ignore[misc]
                one.offset > before[who][place].offset for place, one in java.group_offsets(group).items()
            ),
            40,
        )
    # Nobody began anew: commits come every 200 ms, so little is read again even where members rejoin.
    for who, count in crowd.rereads().items():
        assert count - reread[who] < len(crowd.writers) * 100, who
    cluster.start_broker(coordinator)
    healthy(TOPIC)
    healthy(OFFSETS)


def test_brokers_restart_one_by_one(crowd: Crowd, cluster: ClusterUnderTest, healthy: Healthy) -> None:
    crowd.goes_on()
    for id in (1, 2, 3):
        healthy(TOPIC)
        healthy(OFFSETS)
        cluster.stop_broker(id)
        crowd.goes_on()
        cluster.start_broker(id)
    healthy(TOPIC)
    healthy(OFFSETS)
    crowd.goes_on()


def test_leaders_move(crowd: Crowd, java: Any, reference: Any, healthy: Healthy) -> None:
    """By a reassignment that takes the leader's replica away, and back home by preferred election."""
    healthy(TOPIC)
    java.elect_leaders("PREFERRED", crowd.places)
    eventually(lambda: leaders(reference) == {1})
    java.reassign({place: [2, 3] for place in crowd.places})
    eventually(lambda: not java.list_reassignments() and 1 not in leaders(reference), 60)
    crowd.goes_on()
    java.reassign({place: [1, 2, 3] for place in crowd.places})
    eventually(lambda: not java.list_reassignments(), 60)
    healthy(TOPIC)
    crowd.goes_on()
    assert set(java.elect_leaders("PREFERRED", crowd.places).values()) <= {0}
    eventually(lambda: leaders(reference) == {1})
    crowd.goes_on()


def test_what_was_written_is_there(crowd: Crowd, reference: Any) -> None:
    """Read once more from the start: each partition holds its writer's numbers, each once, in order."""
    crowd.finish()
    for name, writer in crowd.writers.items():
        records = reference.consume(TOPIC, EARLIEST, len(writer.offsets), [writer.partition])
        assert [int(record.value) for record in records] == list(range(len(writer.offsets))), name
