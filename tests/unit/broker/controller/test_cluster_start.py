"""How a broker finds its place: whose data it has, whom its settings name, and what it waits to know."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from tests.rigs.quorum import QuorumRig
from tests.rigs.virtual_time import run
from tidelog.base.config.config import load
from tidelog.base.errors import StorageError
from tidelog.base.ids import NodeId, uuid_text
from tidelog.broker.controller.cluster_start import check_company, until_following
from tidelog.metadata.image.records import ClusterCreated, Record, TopicCreated
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store.entries.data import encode_decision
from tidelog.raft.entries import Entry, EntryKind
from tidelog.raft.messages import AppendEntries
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk

THREE = "1@a:9092,2@b:9092,3@c:9092"


def check(named: str, voters: Sequence[int], brokers: Sequence[int], node_id: int = 3) -> None:
    flags = {"node.id": str(node_id), **({"controller.quorum.voters": named} if named else {})}
    raft = SimpleNamespace(configuration=SimpleNamespace(voters=[SimpleNamespace(id=id) for id in voters]))
    image = SimpleNamespace(cluster_id="theirs", brokers=dict.fromkeys(brokers))
    check_company(load(None, {}, flags), raft, image)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("named", "voters", "brokers"),
    [
        ("", [3], [3]),  # a cluster of one
        ("3@c:9092", [3], [3]),  # which says so
        (THREE, [1, 2, 3], []),  # a new cluster of three
        (THREE, [1, 2, 3], [1, 2, 3]),
        (THREE, [1, 2, 4], [1, 2, 3, 4]),  # voters have been changed since
        (THREE, [3], [1, 2, 3]),  # all others have given their votes back
    ],
)
def test_data_and_settings_agree(named: str, voters: list[int], brokers: list[int]) -> None:
    check(named, voters, brokers)


@pytest.mark.parametrize("node_id", [3, 4])
def test_data_of_a_broker_that_was_alone_are_refused_among_others(node_id: int) -> None:
    with pytest.raises(StorageError, match=r"another cluster .* broker . is alone.*empty log dir"):
        check(THREE, [node_id], [node_id], node_id)


class FollowingVoter:
    """Voter 1 of three, with a leader that says what a test wants it to say."""

    def __init__(self, disk: MemoryDisk) -> None:
        self.rig = QuorumRig(disk, voters=(1, 2, 3))

    async def start(self) -> None:
        await self.rig.start()
        services = SimpleNamespace(metadata=self.rig.metadata, clock=self.rig.clock, authorizer=None)
        waiting = until_following(services, self.rig.quorum)  # type: ignore[arg-type]
        self.following = asyncio.get_running_loop().create_task(waiting)

    async def hear(self, leader: NodeId, term: int, previous: tuple[int, int], *entries: Entry) -> None:
        address = f"127.0.0.{leader}:9092"
        commit = previous[0] + len(entries)
        append = AppendEntries(leader, bytes([leader] * 16), term, address, *previous, commit, 0, entries)
        self.rig.quorum.receive(append)
        for _ in range(20):
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        self.following.cancel()
        await asyncio.gather(self.following, return_exceptions=True)
        await self.rig.stop()


def data(term: int, *records: Record) -> Entry:
    return Entry(term, EntryKind.DATA, encode_decision(records))


def topic(name: str, number: int) -> TopicCreated:
    return TopicCreated(name, uuid_text(number.to_bytes(16, "big")))


def test_a_broker_waits_for_all_that_it_ever_acted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def life() -> None:
        monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 2)
        disk = MemoryDisk()
        first = FollowingVoter(disk)
        await first.start()
        await first.hear(2, 1, (-1, 0), Entry(1, EntryKind.NOOP), data(1, ClusterCreated("c")))
        monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1000)
        await first.hear(2, 1, (1, 1), data(1, topic("later-than-the-snapshot", 1)))
        await first.following
        assert first.rig.metadata.image.topic("later-than-the-snapshot")
        await first.stop()

        again = FollowingVoter(disk)
        await again.start()
        assert again.rig.metadata.image.cluster_id == "c"
        # Another leader, who has more than this broker was there for: its first message does not fit.
        await again.hear(3, 2, (7, 2))
        assert again.rig.quorum.raft.leader_id == 3
        assert not again.following.done()
        await again.hear(3, 2, (2, 1), data(2, topic("another", 2)))
        await again.following
        assert set(again.rig.metadata.image.topics) == {"later-than-the-snapshot", "another"}
        await again.stop()

    run(life())


def test_a_broker_does_not_wait_for_what_was_never_agreed_on() -> None:
    async def life() -> None:
        disk = MemoryDisk()
        first = FollowingVoter(disk)
        await first.start()
        await first.hear(2, 1, (-1, 0), Entry(1, EntryKind.NOOP), data(1, ClusterCreated("c")))
        agreed = first.rig.quorum.raft.commit_index
        lost = [data(1, topic(f"lost-{number}", number)) for number in range(5)]
        append = AppendEntries(2, bytes([2] * 16), 1, "127.0.0.2:9092", 1, 1, agreed, 0, tuple(lost))
        first.rig.quorum.receive(append)
        await first.following
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert first.rig.quorum.raft.last_index == 6
        await first.stop()

        again = FollowingVoter(disk)
        await again.start()
        await again.hear(3, 2, (1, 1), Entry(2, EntryKind.NOOP))
        await asyncio.wait_for(again.following, 5)
        assert again.rig.quorum.raft.last_index == 2
        await again.stop()

    run(life())
