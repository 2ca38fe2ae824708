"""A share group of three kinds of clients works through what happens to a cluster.

Every record is done, and nothing comes again after the broker confirmed that it is done.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.cluster_under_test import ClusterUnderTest
from tests.interop.driver import ConfigChange
from tests.interop.shares.member import ShareMember, Where, wait_until
from tests.interop.stream_writer import StreamWriter, wait_until_written
from tests.interop.waiting import eventually

TOPIC = GROUP = "shares-through-failures"
STATE, OFFSETS = "__share_group_state", "__consumer_offsets"
KINDS = ("java", "confluent", "franz-go")
PLACES = [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
Healthy = Callable[[str], None]


class Crew:
    """Writers on each partition, and one member of each kind."""

    def __init__(self, connect: Callable[[str], Any], java: Any) -> None:
        self._java = java
        java.create_assigned(TOPIC, PLACES)
        # Short: a lost answer costs a client the locks of its records, and the group their time.
        configs = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": "5000"}
        java.alter_configs("group", GROUP, [ConfigChange("set", *pair) for pair in configs.items()])
        self.writers: dict[str, StreamWriter] = {
            str(index): java.start_writing(TOPIC, index) for index in range(len(PLACES))
        }
        self.members: list[ShareMember] = [
            connect(kind).join_share(GROUP, TOPIC, max_records=5).work() for kind in KINDS
        ]

    @property
    def written(self) -> set[Where]:
        return {
            (TOPIC, writer.partition, offset)
            for writer in self.writers.values()
            for offset in list(writer.offsets.values())
        }

    def goes_on(self, more: int = 4) -> None:
        """More is written, and the members answer for all of it; one whose answer was lost may come again."""
        wait_until_written(self.writers, more)
        written = self.written

        def all_answered() -> bool:
            answered = [member.settled + member.unsettled for member in self.members]
            return written <= set().union(*answered)

        wait_until(self.members, all_answered, "the members answer for all that is written", 60)
        self.check()

    def check(self) -> None:
        """Nothing that is done came again, and nothing was done twice."""
        done_ms: dict[Where, float] = {}
        for member in self.members:
            for time_ms, kind, what in member.notes:
                if kind == "settled":
                    for one in map(tuple, what):
                        assert one not in done_ms, f"{one} was done twice"
                        done_ms[one] = time_ms
        for number, member in enumerate(self.members):
            for time_ms, kind, what in member.notes:
                if kind == "taken":
                    for topic, index, offset, deliveries in what:
                        where = (topic, index, offset)
                        late = time_ms - done_ms.get(where, time_ms)
                        story = f"{where}, delivery {deliveries}, came to {KINDS[number]}"
                        assert late <= 0, f"{story} {late} ms after it was done"

    def finish(self) -> None:
        for writer in self.writers.values():
            writer.stop()
            writer.check()
        self.goes_on(more=0)
        eventually(lambda: {one.lag for one in self._java.share_offsets(GROUP).values()} == {0}, 60)
        for member in self.members:
            member.close()
        self.check()

    def close(self) -> None:
        for part in (*self.writers.values(), *self.members):
            part.close()


@pytest.fixture(scope="module")
def crew(connect: Callable[[str], Any], java: Any) -> Iterator[Crew]:
    running = Crew(connect, java)
    yield running
    running.close()


@pytest.fixture
def settled(healthy: Healthy) -> Iterator[None]:
    """Every replica is in sync again before the next thing happens."""
    yield
    for topic in (TOPIC, STATE, OFFSETS):
        healthy(topic)


def test_a_leader_dies(crew: Crew, cluster: ClusterUnderTest, settled: None) -> None:
    crew.goes_on()
    cluster.kill(1)
    crew.goes_on()
    cluster.start_broker(1)


def test_the_coordinators_die(crew: Crew, cluster: ClusterUnderTest, java: Any, settled: None) -> None:
    """That of the group, which may well be a leader and keep share state too."""
    crew.goes_on()
    before = java.describe_share_group(GROUP)
    assert len(before.members) == len(KINDS)
    cluster.kill(before.coordinator)
    crew.goes_on()
    eventually(lambda: len(java.describe_share_group(GROUP).members) == len(KINDS))
    assert java.describe_share_group(GROUP).coordinator != before.coordinator
    cluster.start_broker(before.coordinator)


def test_brokers_restart_one_by_one(crew: Crew, cluster: ClusterUnderTest, healthy: Healthy) -> None:
    for id in (1, 2, 3):
        for topic in (TOPIC, STATE, OFFSETS):
            healthy(topic)
        cluster.stop_broker(id)
        crew.goes_on()
        cluster.start_broker(id)
    for topic in (TOPIC, STATE, OFFSETS):
        healthy(topic)


def test_leaders_move(crew: Crew, java: Any, reference: Any, settled: None) -> None:
    places = [(TOPIC, index) for index in range(len(PLACES))]
    java.elect_leaders("PREFERRED", places)
    java.reassign({place: [3, 1] for place in places})
    eventually(lambda: not java.list_reassignments(), 60)
    crew.goes_on()
    java.reassign({place: PLACES[place[1]] for place in places})
    eventually(lambda: not java.list_reassignments(), 60)
    crew.goes_on()


def test_all_work_is_done(crew: Crew) -> None:
    """Each record once at the least, and by all kinds of members."""
    crew.finish()
    taken = Counter(where for member in crew.members for where in member.taken)
    assert taken.keys() == crew.written
    assert all(member.settled for member in crew.members)
