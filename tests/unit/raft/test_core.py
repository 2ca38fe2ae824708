"""Raft's edges as its shell meets them: deadlines, windows, huge entries, hostile peers."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.raft.core import Raft, Role
from tidelog.raft.entries import INDEX_MAX, TERM_MAX, Configuration, Entry, EntryKind, Voter
from tidelog.raft.errors import NotLeader
from tidelog.raft.messages import (
    AnyMessage,
    AppendEntries,
    AppendEntriesResponse,
    FindLeader,
    InstallSnapshot,
    InstallSnapshotResponse,
    PreVote,
    PreVoteResponse,
    RequestVote,
    RequestVoteResponse,
    TimeoutNow,
)
from tidelog.raft.ready import HardState, Ready, Restored
from tidelog.raft.settings import RaftSettings

THREE = Configuration(tuple(Voter(node, f"host:{node}", bytes([node] * 16)) for node in (1, 2, 3)))


class NoChance:
    def bytes(self, count: int) -> bytes:
        return bytes(count)

    def below(self, limit: int) -> int:
        return 0


def node(configuration: Configuration = THREE, now: float = 100.0, **options: Any) -> Raft:
    entries = options.pop("entries", ())
    settings = RaftSettings(**options)
    return Raft(
        node_id=1,
        storage_id=bytes([1] * 16),
        address="host:1",
        restored=Restored(configuration, entries=entries),
        settings=settings,
        random=NoChance(),
        now=now,
        snapshot_source=lambda: None,
    )


def said(message: type[Any], *fields: Any, sender: int = 2, term: int = 1) -> Any:
    asking = message in (PreVote, RequestVote, AppendEntries, InstallSnapshot, FindLeader)
    return message(sender, bytes([sender] * 16), term, *([f"host:{sender}"] if asking else []), *fields)


def obey(raft: Raft) -> list[tuple[int, AnyMessage]]:
    sent = []
    while (ready := raft.ready()) is not None:
        sent += ready.messages
        raft.done(ready)
    return sent


def leader(**options: Any) -> Raft:
    """Node 1, elected by node 2 at 100.2 s, with its no-op on both."""
    raft = node(**options)
    raft.tick(100.2)
    obey(raft)
    raft.step(said(PreVoteResponse, True, term=raft.term), 100.2)
    obey(raft)
    raft.step(said(RequestVoteResponse, True, term=raft.term), 100.2)
    obey(raft)
    raft.step(said(AppendEntriesResponse, 0, True, raft.last_index, term=raft.term), 100.2)
    obey(raft)
    assert raft.is_ready_leader
    return raft


def appends(sent: list[tuple[int, AnyMessage]], to: int) -> list[AppendEntries]:
    return [message for receiver, message in sent if receiver == to and isinstance(message, AppendEntries)]


def test_a_follower_wakes_exactly_when_it_said() -> None:
    raft = node()
    assert raft.next_deadline == 100.2
    raft.tick(math.nextafter(100.2, 0))
    assert raft.ready() is None
    raft.tick(100.2)
    assert raft.role is Role.PRE_CANDIDATE
    assert raft.next_deadline == 101.2


def test_a_heartbeat_moves_the_deadline_of_a_follower() -> None:
    raft = node()
    raft.step(said(AppendEntries, -1, 0, -1, 0, ()), 100.1)
    assert raft.leader_id == 2
    assert raft.next_deadline == 101.1


def test_a_leader_wakes_for_heartbeats_and_steps_down_when_nobody_answers() -> None:
    raft = leader()
    assert raft.next_deadline == pytest.approx(100.4)
    for _ in range(4):
        raft.tick(raft.next_deadline)
        assert len(appends(obey(raft), 2)) == 1
    while raft.is_leader:
        now = raft.next_deadline
        raft.tick(now)
    assert now == pytest.approx(101.2)
    assert raft.role is Role.FOLLOWER
    with pytest.raises(NotLeader):
        raft.propose(b"x", 101.2)


def test_a_quorum_of_one_waits_for_nothing() -> None:
    raft = node(Configuration((Voter(1, "host:1"),)))
    assert raft.is_leader
    obey(raft)
    assert raft.is_ready_leader
    assert raft.next_deadline == math.inf
    index = raft.propose(b"x", 100.0)
    ready = raft.ready()
    assert isinstance(ready, Ready)
    assert raft.commit_index < index
    raft.done(ready)
    assert raft.commit_index == index
    after = raft.ready()
    assert after is not None
    assert after.committed == [(index, Entry(1, EntryKind.DATA, b"x"))]


def test_proposals_that_come_together_travel_together() -> None:
    raft = leader()
    for number in range(10):
        raft.propose(b"%d" % number, 100.2)
    assert [len(append.entries) for append in appends(obey(raft), 2)] == [10]


def test_the_window_bounds_what_is_under_way() -> None:
    raft = leader(message_bytes_max=100, window_bytes=250)
    for _ in range(20):
        raft.propose(b"x" * 40, 100.2)
    sent = appends(obey(raft), 2)
    assert [len(append.entries) for append in sent] == [1, 1, 1, 1, 1]
    first = sent[0].previous_index
    raft.step(said(AppendEntriesResponse, 0, True, first + 2), 100.2)
    assert [append.previous_index for append in appends(obey(raft), 2)] == [first + 5, first + 6]


def test_the_window_bounds_entries_too() -> None:
    raft = leader(window_entries=4)
    for _ in range(20):
        raft.propose(b"", 100.2)
    assert sum(len(append.entries) for append in appends(obey(raft), 2)) == 4


def test_a_huge_entry_travels_alone_in_one_message() -> None:
    raft = leader()
    raft.propose(b"small", 100.2)
    raft.propose(bytes(32 << 20), 100.2)
    raft.propose(b"small", 100.2)
    sent = appends(obey(raft), 2)
    assert [[len(entry.data) for entry in append.entries] for append in sent] == [[5], [32 << 20]]
    raft.step(said(AppendEntriesResponse, 0, True, raft.last_index - 1), 100.2)
    assert [len(append.entries) for append in appends(obey(raft), 2)] == [1]


def test_a_silent_peer_gets_heartbeats_only() -> None:
    raft = leader()
    raft.propose(b"x", 100.2)
    assert [len(append.entries) for append in appends(obey(raft), 3)] == []
    sent: list[AppendEntries] = []
    for _ in range(10):
        now = raft.next_deadline
        raft.tick(now)
        raft.step(said(AppendEntriesResponse, 0, True, raft.last_index), now)
        sent += appends(obey(raft), 3)
    assert len(sent) >= 8
    assert {append.entries for append in sent} == {()}


def test_work_goes_on_while_a_ready_is_being_synced() -> None:
    raft = leader()
    first = raft.propose(b"a", 100.2)
    ready = raft.ready()
    assert ready is not None
    second = raft.propose(b"b", 100.2)
    raft.step(said(AppendEntriesResponse, 0, True, first), 100.2)
    raft.done(ready)
    assert raft.commit_index == first
    later = raft.ready()
    assert later is not None
    assert (later.first_index, [entry.data for entry in later.entries]) == (second, [b"b"])


def test_a_vote_leaves_together_with_the_state_that_keeps_it() -> None:
    raft = node()
    raft.step(said(RequestVote, 5, 3, False, term=4), 100.0)
    ready = raft.ready()
    assert ready is not None
    assert ready.hard_state == HardState(4, 2)
    assert ready.messages == [(2, RequestVoteResponse(1, bytes([1] * 16), 4, True))]
    raft.done(ready)
    raft.step(said(RequestVote, 5, 3, False, sender=3, term=4), 100.0)
    assert obey(raft) == [(3, RequestVoteResponse(1, bytes([1] * 16), 4, False))]


def test_an_acknowledgement_leaves_together_with_the_entries_it_promises() -> None:
    raft = node()
    raft.step(
        said(AppendEntries, -1, 0, -1, 0, (Entry(1, EntryKind.NOOP), Entry(1, EntryKind.DATA, b"x"))), 100.0
    )
    ready = raft.ready()
    assert ready is not None
    assert (ready.first_index, len(ready.entries), ready.must_sync) == (0, 2, True)
    assert ready.messages == [(2, AppendEntriesResponse(1, bytes([1] * 16), 1, 0, True, 1))]


def test_a_follower_below_the_log_waits_for_a_snapshot_and_hears_of_the_leader_until_there_is_one() -> None:
    raft = leader(trailing_entries=0)
    for _ in range(5):
        raft.propose(b"x", 100.2)
    obey(raft)
    raft.step(said(AppendEntriesResponse, 0, True, raft.last_index), 100.2)
    obey(raft)
    raft.compact(raft.commit_index)
    raft.step(said(AppendEntriesResponse, 0, False, 0, -1, 0, sender=3), 100.3)
    raft.tick(raft.next_deadline)
    assert [append.previous_index for append in appends(obey(raft), 3)] == [raft.last_index]


def test_an_acknowledgement_beyond_the_log_is_ignored() -> None:
    raft = leader()
    before = raft.commit_index
    raft.step(said(AppendEntriesResponse, 0, True, INDEX_MAX), 100.2)
    raft.step(said(AppendEntriesResponse, 0, True, raft.last_index + 1), 100.2)
    raft.step(said(AppendEntriesResponse, 99, True, raft.last_index), 100.2)
    assert raft.commit_index == before


def test_an_absurd_term_is_ignored_by_who_has_a_term() -> None:
    raft = leader()
    raft.step(said(RequestVote, 9, TERM_MAX, True, term=TERM_MAX), 100.2)
    raft.step(said(AppendEntriesResponse, 0, False, 0, term=TERM_MAX), 100.2)
    assert raft.is_leader
    assert raft.term == 1


def test_a_second_leader_of_the_same_term_is_not_believed() -> None:
    raft = node()
    raft.step(said(AppendEntries, -1, 0, -1, 0, (Entry(1, EntryKind.NOOP),)), 100.0)
    raft.step(said(AppendEntries, -1, 0, 0, 0, (Entry(1, EntryKind.DATA, b"x"),), sender=3), 100.0)
    assert raft.leader_id == 2
    assert raft.commit_index == -1
    chief = leader()
    chief.step(said(AppendEntries, -1, 0, 5, 0, ()), 100.2)
    assert chief.is_leader


@pytest.mark.parametrize(
    "entries",
    [
        (Entry(3, EntryKind.DATA),),
        (Entry(2, EntryKind.DATA), Entry(1, EntryKind.DATA)),
        (Entry(1, EntryKind.CONFIG, b"garbage"),),
    ],
)
def test_entries_that_no_leader_could_send_are_ignored(entries: tuple[Entry, ...]) -> None:
    raft = node()
    raft.step(said(AppendEntries, -1, 0, -1, 0, entries, term=2), 100.0)
    assert raft.last_index == -1


def test_committed_entries_are_never_replaced() -> None:
    raft = node()
    good = (Entry(1, EntryKind.NOOP), Entry(1, EntryKind.DATA, b"good"))
    raft.step(said(AppendEntries, -1, 0, 1, 0, good), 100.0)
    obey(raft)
    raft.step(
        said(AppendEntries, -1, 0, 1, 0, (Entry(2, EntryKind.NOOP), Entry(2, EntryKind.NOOP)), term=2), 100.0
    )
    assert [raft.term_at(index) for index in (0, 1)] == [1, 1]


def test_a_snapshot_that_is_too_large_is_not_begun() -> None:
    raft = node(snapshot_bytes_max=10)
    raft.step(said(InstallSnapshot, 5, 1, THREE.encode(), 0, 11, 0, b"x"), 100.0)
    assert obey(raft) == []


def test_observers_are_bounded_and_silent_ones_forgotten() -> None:
    raft = leader(observers_max=5, observer_timeout=0.5)
    for stranger in range(10, 30):
        raft.step(said(FindLeader, sender=stranger), 100.2)
    assert [observer.id for observer in raft.status().observers] == [10, 11, 12]
    for beat in range(4):
        raft.tick(100.41 + beat / 5)
        raft.step(said(AppendEntriesResponse, 0, True, 0, sender=10), 100.41 + beat / 5)
        raft.step(said(AppendEntriesResponse, 0, True, 0), 100.41 + beat / 5)
    assert [observer.id for observer in raft.status().observers] == [10]


def test_the_status_tells_who_has_what() -> None:
    raft = leader()
    status = raft.status()
    assert (status.leader_id, status.term, status.commit_index) == (1, 1, 0)
    assert [(voter.id, voter.last_index, voter.last_contact) for voter in status.voters] == [
        (1, 0, None),
        (2, 0, 100.2),
        (3, -1, None),
    ]


def test_addresses_come_from_the_node_itself_then_the_settings_then_the_log() -> None:
    raft = Raft(
        node_id=1,
        storage_id=bytes([1] * 16),
        address="host:1",
        restored=Restored(THREE),
        settings=RaftSettings(),
        random=NoChance(),
        now=0.0,
        snapshot_source=lambda: None,
        seeds=(Voter(2, "moved:2"),),
    )
    assert [raft.address_of(other) for other in (2, 3, 4)] == ["moved:2", "host:3", None]
    raft.step(AppendEntries(2, bytes([2] * 16), 1, "again:2", -1, 0, -1, 0, ()), 0.0)
    assert raft.address_of(2) == "again:2"


def test_who_moved_is_found_again_in_the_configuration() -> None:
    raft = leader()
    raft.step(FindLeader(2, bytes([2] * 16), 1, "elsewhere:2"), 100.3)
    raft.tick(100.4)
    obey(raft)
    voter = raft.configuration.find(2)
    assert voter is not None
    assert voter.address == "elsewhere:2"


indexes = st.sampled_from([-1, 0, 1, 2, 3, 50, INDEX_MAX])
terms = st.sampled_from([0, 1, 2, 3, 4, 1000, TERM_MAX])
kinds = st.sampled_from([EntryKind.NOOP, EntryKind.DATA, EntryKind.CONFIG])
some_entries = st.lists(
    st.builds(Entry, terms, kinds, st.sampled_from([b"x", THREE.encode()])), max_size=4
).map(tuple)
bodies: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.just(PreVote), indexes, terms),
    st.tuples(st.just(PreVoteResponse), st.booleans()),
    st.tuples(st.just(RequestVote), indexes, terms, st.booleans()),
    st.tuples(st.just(RequestVoteResponse), st.booleans()),
    st.tuples(st.just(AppendEntries), indexes, terms, indexes, st.integers(0, 3), some_entries),
    st.tuples(st.just(AppendEntriesResponse), st.integers(0, 3), st.booleans(), indexes, indexes, terms),
    st.tuples(
        st.just(InstallSnapshot),
        st.sampled_from([-1, 0, 1, 5]),
        terms,
        st.just(THREE.encode()),
        st.integers(0, 3),
        st.integers(3, 6),
        st.integers(0, 3),
        st.sampled_from([b"", b"abc"]),
    ),
    st.tuples(st.just(InstallSnapshotResponse), indexes, st.integers(0, 9), st.integers(0, 3)),
    st.tuples(st.just(TimeoutNow)),
    st.tuples(st.just(FindLeader), st.booleans()),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(bodies, st.integers(1, 5), terms), max_size=25), st.booleans())
def test_no_message_makes_a_node_raise(
    messages: list[tuple[tuple[Any, ...], int, int]], is_leader: bool
) -> None:
    raft = leader() if is_leader else node()
    now = 100.2
    for (message, *fields), sender, term in messages:
        now += 0.1
        raft.step(said(message, *fields, sender=sender, term=term), now)
        raft.tick(now)
        for _ in range(10):
            ready = raft.ready()
            if ready is None:
                break
            raft.done(ready)
        assert raft.next_deadline > now - 1e-9


def test_a_second_process_with_the_id_of_a_live_voter_is_not_heard() -> None:
    """It must take over neither the voter's address nor, later, its seat; a successor of a dead one may."""
    raft = node()
    raft.step(said(AppendEntries, -1, 0, -1, 1), 100.0)
    assert raft.address_of(2) == "host:2"
    impostor = FindLeader(2, bytes([77] * 16), 1, "elsewhere:2")
    raft.step(impostor, 101.0)
    assert raft.address_of(2) == "host:2"
    raft.step(said(AppendEntries, -1, 0, -1, 2), 101.5)
    raft.step(impostor, 103.0)
    assert raft.address_of(2) == "host:2"
    raft.step(impostor, 103.6)
    assert raft.address_of(2) == "elsewhere:2"
