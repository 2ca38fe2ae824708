"""Raft under random schedules keeps its promises and recovers; if a rule is broken, the checks notice."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.raft.checks import PromiseBroken
from tests.rigs.raft.disk import DumbDisk
from tests.rigs.raft.schedule import Schedule
from tests.rigs.raft.short_reigns import ShortReigns
from tests.rigs.raft.transcript import replay
from tidelog.raft import election, following, heartbeats, leading, quorum, reads
from tidelog.raft.entries import Entry, Index, Voter
from tidelog.raft.log import RaftLog
from tidelog.raft.messages import Addressed, AnyMessage, AppendEntries, AppendEntriesResponse
from tidelog.raft.ready import HardState, Ready
from tidelog.raft.state import RaftNode, Role

TRANSCRIPTS = Path(__file__).parents[1] / "unit" / "raft" / "transcripts"
seeds = st.integers(0, 2**32)


@settings(max_examples=60)
@given(seed=seeds, voters=st.integers(3, 5), steps=st.integers(0, 700))
def test_promises_hold_at_every_step_and_a_healed_cluster_agrees(seed: int, voters: int, steps: int) -> None:
    schedule = Schedule(seed, voters)
    schedule.run(steps)
    schedule.heal_and_converge()


@settings(max_examples=15)
@given(seed=seeds, steps=st.integers(0, 700))
def test_two_voters_need_each_other_and_recover(seed: int, steps: int) -> None:
    schedule = Schedule(seed, 2, observers=2, is_wild=False)
    schedule.run(steps)
    schedule.heal_and_converge()


@settings(max_examples=40)
@given(seed=seeds, voters=st.integers(1, 2), steps=st.integers(0, 700))
def test_one_or_two_voters_become_more_and_fewer_and_recover(seed: int, voters: int, steps: int) -> None:
    """Where one voter removes itself, the other cannot go on without it until it knows."""
    schedule = Schedule(seed, voters, observers=2, loses_disks=False)
    schedule.run(steps)
    schedule.heal_and_converge()


@settings(max_examples=10)
@given(seed=seeds)
def test_promises_hold_while_leaders_fall_one_after_the_other(seed: int) -> None:
    ShortReigns(seed).run(40)


def test_short_reigns_catch_old_terms_that_are_committed_by_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leading, "may_commit", lambda *_: True)
    with pytest.raises(PromiseBroken, match="without the committed"):
        ShortReigns(7).run(40)


@settings(max_examples=10)
@given(seed=seeds)
def test_a_schedule_follows_from_its_seed(seed: int) -> None:
    def vote_result() -> tuple[object, ...]:
        schedule = Schedule(seed)
        schedule.run(200)
        checks = schedule.cluster.checks
        return checks.leaders, checks.committed, schedule.cluster.letters_sent

    assert vote_result() == vote_result()


def test_schedules_reach_the_rare_things() -> None:
    """A schedule in which little happens proves little."""
    missing = {"wipe", "snapshot installed", "seat vacated", "voter added", "voter removed", "transfer"}
    for seed in range(60):
        schedule = Schedule(seed)
        schedule.run(700)
        schedule.heal_and_converge()
        missing -= schedule.seen
        if not missing:
            break
    assert not missing


def forgetful_write(self: DumbDisk, ready: Ready, write: Callable[..., None] = DumbDisk.write) -> None:
    write(self, ready)
    self.hard_state = HardState(self.hard_state.term, None)


def truncating_take(node: RaftNode, previous: Index, entries: tuple[Entry, ...]) -> None:
    if node.log.last_index > previous:
        node.truncate_from(previous + 1)
    node.append(list(entries))


def boastful_response(node: RaftNode, message: AnyMessage) -> Addressed | None:
    """Says what the disk has not got yet."""
    if not isinstance(message, AppendEntries) or (message.term, message.sender) != (
        node.term,
        node.leader_id,
    ):
        return None
    last = node.log.last_index
    return message.sender, AppendEntriesResponse(node.id, node.storage, node.term, message.round, True, last)


def any_disk(voter: Voter, _storage: bytes) -> bool:
    return not voter.vacant


BUGS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "one vote is enough": (election, "votes_needed", lambda _: 1),
    "half of the votes are enough": (election, "votes_needed", lambda c: len(c.counted) // 2),
    "any log gets a vote": (RaftLog, "is_up_to_date", lambda *_: True),
    "one acknowledgement commits": (leading, "reached_by_majority", max),
    "an old message truncates": (following, "_take", truncating_take),
    "a busy disk is taken for a quick one": (heartbeats, "response", boastful_response),
}
BUGS_FOR_TRANSCRIPTS: dict[str, tuple[str, Any, str, Callable[..., Any]]] = {
    "old terms are committed by counting": ("figure_8", leading, "may_commit", lambda *_: True),
    "the vote is not kept": ("vote_is_kept", DumbDisk, "write", forgetful_write),
    "a lost disk still counts": ("lost_disk", Voter, "is_held_by", any_disk),
    "a majority founds a cluster": (
        "lost_majority",
        election,
        "votes_needed",
        lambda c: quorum.majority(len(c.counted)),
    ),
}


def run_many(some_seeds: Iterable[int], *, is_wild: bool = True) -> None:
    for seed in some_seeds:
        Schedule(seed, is_wild=is_wild).run(600)


@pytest.mark.parametrize("bug", BUGS)
def test_random_schedules_catch(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken = BUGS[bug]
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(PromiseBroken):
        run_many(range(60))


def run_with_few_voters(some_seeds: Iterable[int]) -> None:
    for seed in some_seeds:
        schedule = Schedule(seed, 2, observers=2, loses_disks=False)
        schedule.run(500)
        schedule.heal_and_converge()


def with_own_vote(node: RaftNode, role: Role, now: float) -> None:
    BECOME_CANDIDATE(node, role, now)
    node.votes[node.id] = node.storage


BECOME_CANDIDATE = election._become_candidate
BUGS_WITH_FEW_VOTERS: dict[str, tuple[Any, str, Any]] = {
    "a voter that is being removed never campaigns": (
        RaftNode,
        "may_campaign",
        property(lambda node: node.is_voter),
    ),
    "a voter that is being removed votes for itself": (election, "_become_candidate", with_own_vote),
}


@pytest.mark.parametrize("bug", BUGS_WITH_FEW_VOTERS)
def test_schedules_with_few_voters_catch(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, broken = BUGS_WITH_FEW_VOTERS[bug]
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(PromiseBroken):
        run_with_few_voters(range(60))


@pytest.mark.parametrize("bug", BUGS_FOR_TRANSCRIPTS)
def test_transcripts_catch(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript, owner, name, broken = BUGS_FOR_TRANSCRIPTS[bug]
    text = (TRANSCRIPTS / f"{transcript}.txt").read_text()
    assert replay(text) == text
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(PromiseBroken):
        replay(text)


def test_reads_without_a_round_of_heartbeats_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "_confirmed_round", lambda _, lead: lead.round)
    with pytest.raises(PromiseBroken, match="a read at"):
        run_many(range(100, 300), is_wild=False)
