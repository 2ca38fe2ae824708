"""The simulator can fail: each rule of the product that is broken here on purpose, a check catches."""

import re
from collections.abc import Callable

import msgspec
import pytest

from tidelog.groups.shard import GroupShard
from tidelog.groups.streams.group import InTheWay
from tidelog.metadata.entities import PartitionImage
from tidelog.raft import leading
from tidelog.replication.following import Following, Truncated
from tidelog.replication.partition import Partition
from tidelog.storage.flush import Flush
from tidelog.storage.log import PartitionLog
from tidelog.storage.losses import Losses
from tidelog.storage.producers import Producers
from tidelog.testing.sim.run import run_seed
from tidelog.testing.sim.scenario import Scenario, scenario_of

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

SEEDS_MAX = 25


def rough(seed: int, *faults: str, **more: object) -> Scenario:
    """Three nodes, many faults of the kind that the bug needs."""
    plan: dict[str, object] = {
        "nodes": 3,
        "replicas": 3,
        "min_insync": 2,
        "durability": "os",
        "topics": {"t": 1},
        "acks": (-1, -1),
        "group_members": 0,
        "streams_members": 0,
        "topic_churn": False,
        "transactors": 0,
        "copier": False,
        "consumers": 1,
        "faults": faults,
        "fault_gap_seconds": 0.7,
        "fault_seconds": 7.0,
        "sends_per_second": 12.0,
    }
    return msgspec.structs.replace(scenario_of(seed), **(plan | more))


def problems_until(pattern: str, scenario: Callable[[int], Scenario], first_seed: int = 0) -> list[str]:
    """What the checks say of the first seed for which one of them says this."""
    for seed in range(first_seed, first_seed + SEEDS_MAX):
        problems = run_seed(seed, scenario(seed)).problems
        if any(re.search(pattern, problem) for problem in problems):
            return problems
    pytest.fail(f"no check said {pattern!r} within {SEEDS_MAX} seeds")


def test_votes_that_are_counted_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.raft.election.votes_needed", lambda configuration: 1)
    problems_until("lead the quorum in term", lambda seed: rough(seed, "isolate", "kill"))


def test_an_entry_that_is_committed_by_one_node_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def alone(values: list[int]) -> int:
        # Of times, by which a leader notices that it is cut off, a majority is still wanted.
        return max(values) if all(isinstance(value, int) for value in values) else majority(values)

    majority = leading.reached_by_majority
    monkeypatch.setattr(leading, "reached_by_majority", alone)
    problems_until(
        "of the metadata was committed as|was acknowledged, and it is not there",
        lambda seed: rough(seed, "isolate", "kill", "halves", topic_churn=True),
        first_seed=5,
    )


def test_an_acknowledgement_before_the_isr_has_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "when_safe", lambda self, offset, done: True)
    problems_until("was acknowledged up to", lambda seed: rough(seed, "slow_network", "pause"))
    problems_until("lost write|unseen", lambda seed: rough(seed, "isolate", "kill", "pause"))


def test_a_follower_that_keeps_what_its_leader_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.replication.partition.divergence", lambda log, last_epoch, offset: None)
    problems_until(
        "differs from the other replicas", lambda seed: rough(seed, "isolate", "kill", acks=(-1, 1))
    )


def test_a_sync_that_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Flush, "run", lambda self: None)
    problems_until(
        "lost write|unseen|was acknowledged up to", lambda seed: rough(seed, "power", durability="fsync")
    )


def test_a_retry_that_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Producers, "check", lambda self, header: None)
    problems_until("^duplicate", lambda seed: rough(seed, "loss", "slow_network", "kill"))


def test_a_consumer_that_reads_what_may_be_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Partition, "high_watermark", property(lambda self: self.log.end, lambda self, to: None)
    )
    problems_until(
        "inconsistent offsets|went from", lambda seed: rough(seed, "isolate", "kill", acks=(-1, 1))
    )


def test_a_follower_that_never_cuts_its_log_never_gets_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Following, "_cut", lambda self, cut: Truncated(self.log.end, []))
    monkeypatch.setattr("tidelog.testing.sim.run.HEAL_SECONDS", 6.0)
    problems_until("not whole", lambda seed: rough(seed, "isolate", "kill", acks=(-1, 1)))


def test_a_consumer_that_is_given_what_is_not_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    read = PartitionLog.read

    def read_all(
        self: PartitionLog, offset: int, max_bytes: int, *, end: int, min_one: bool = True
    ) -> object:
        return read(self, offset, max_bytes, end=self.end, min_one=min_one)

    monkeypatch.setattr(PartitionLog, "read", read_all)
    problems_until("and may be read up to", lambda seed: rough(seed, "slow_network", "pause"))


def test_a_coordinator_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(partition: object, shard: object, run_in_thread: object) -> int:
        return 0

    monkeypatch.setattr("tidelog.broker.groups.load", nothing)
    problems_until("had committed", lambda seed: rough(seed, "kill", "isolate", group_members=2))
    problems_until("both own", lambda seed: rough(seed, "kill", "isolate", group_members=2), first_seed=30)


def test_a_task_that_is_given_away_before_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InTheWay, "__contains__", lambda self, task: False)
    shared = {"streams_members": 2, "topics": {"t": 3}}
    problems_until("^s.* commits for", lambda seed: rough(seed, "client_crash", "pause", **shared))


def test_records_that_are_acknowledged_and_forgotten_are_missed_by_their_producer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Partition, "when_safe", lambda self, offset, done: True)
    problems_until("told that it is out of order", lambda seed: rough(seed, "isolate", "kill"))


def test_a_reader_that_is_not_told_what_was_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartitionLog, "aborted_in", lambda self, *more: [])
    problems_until("^aborted read", lambda seed: rough(seed, "client_crash", "kill", transactors=2))


def test_a_reader_that_does_not_wait_for_the_end_of_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "last_stable_offset", property(lambda self: self.high_watermark))
    problems_until("^aborted read", lambda seed: rough(seed, "client_crash", "pause", transactors=2))


def test_the_only_replica_that_may_lead_gets_back_what_a_flipped_bit_took() -> None:
    """Where one in sync is enough, no other is eligible: the run must reach the repair, and pass."""
    for seed in range(SEEDS_MAX):
        scenario = rough(seed, "flipped_bit", durability="fsync", min_insync=1, sends_per_second=1.0)
        result = run_seed(seed, scenario)
        assert result.ok, result.problems[:5]
        if any("are back, from the replica" in line for line in result.lines):
            return
    pytest.fail(f"no log was repaired within {SEEDS_MAX} seeds")


def test_damage_that_is_cut_off_like_a_torn_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Losses, "note", lambda self, first, end: None)
    problems_until(
        "lost write|unseen|differs from the other replicas", lambda seed: rough(seed, "flipped_bit")
    )


def test_a_damaged_replica_that_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Losses, "to_repair", None)
    problems_until(
        "lost write|unseen|differs from the other replicas", lambda seed: rough(seed, "flipped_bit")
    )


def test_offsets_of_a_transaction_that_stay_when_it_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    end = GroupShard.end_transaction
    monkeypatch.setattr(
        GroupShard, "end_transaction", lambda self, producer_id, commit: end(self, producer_id, True)
    )
    problems_until("times among the copies", lambda seed: rough(seed, "client_crash", "kill", copier=True))


def test_a_high_watermark_that_moves_with_too_few_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "has_enough_in_sync", property(lambda self: True))
    problems_until(
        r"was acknowledged up to .* and ELR \(\d",
        lambda seed: rough(seed, "isolate", nodes=5, durability="fsync", fault_gap_seconds=0.5),
    )


def test_an_eligible_leader_that_the_others_have_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def for_ever(old: PartitionImage, replicas: tuple[int, ...], isr: tuple[int, ...], **_: object) -> object:
        return tuple(id for id in replicas if id in (*old.isr, *old.elr) and id not in isr)

    monkeypatch.setattr("tidelog.metadata.partition_edit.eligible_replicas", for_ever)
    problems_until(
        r"was acknowledged up to .* and ELR \(\d",
        lambda seed: rough(seed, "isolate", nodes=5, durability="fsync", fault_gap_seconds=0.5),
    )
