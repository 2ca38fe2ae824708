"""A few seeds of the simulator; `make sim SEEDS=0-1999` runs many. A failure says how to replay it."""

import msgspec
import pytest

from tidelog.testing.share_history import Take
from tidelog.testing.sim.cluster.scenario import (
    FAULT_NAMES,
    cores_scenario_of,
    queue_scenario_of,
    registry_scenario_of,
    rough,
    scenario_of,
)
from tidelog.testing.sim.faults.registry import FAULTS
from tidelog.testing.sim.run import Result, run_seed

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


SEEDS_RUN_TWICE = (3, 5)
QUEUE_SEEDS_RUN_TWICE = (2, 10)
QUEUE_SEEDS = (0, 1, 5, 7, 9, 13, 19, 31, 36, 42)
"""With each kind of faults, dead letters, schedules, transactions and deletions among all of them."""


REGISTRY_SEEDS = (0, 5, 6, 9, 13, 18, 33, 60)
"""With leaders that die, are isolated, paused and replaced, and disks that fail or are full."""


CORES_SEEDS = (3, 5, 6, 12, 21, 26)
PLANS = (scenario_of, queue_scenario_of, cores_scenario_of)


def told(result: Result) -> str:
    return "\n".join([*result.problems[:20], result.scenario.describe(), f"replay: {result.replay}"])


def lived(result: Result) -> None:
    assert result.ok, told(result)
    assert result.records_read > 0


def lived_with_share_groups(result: Result) -> None:
    assert result.ok, told(result)
    assert any(isinstance(event, Take) and event.records for event in result.shares)


@pytest.mark.parametrize("seed", sorted({*range(16)}.difference(SEEDS_RUN_TWICE)))
def test_a_cluster_survives(seed: int) -> None:
    lived(run_seed(seed))


@pytest.mark.parametrize("seed", CORES_SEEDS)
def test_computers_with_two_brokers_each_survive(seed: int) -> None:
    lived(run_seed(seed, cores_scenario_of(seed)))


@pytest.mark.parametrize("seed", QUEUE_SEEDS)
def test_share_groups_survive(seed: int) -> None:
    lived_with_share_groups(run_seed(seed, queue_scenario_of(seed)))


@pytest.mark.parametrize("seed", REGISTRY_SEEDS)
def test_a_schema_registry_survives(seed: int) -> None:
    result = run_seed(seed, registry_scenario_of(seed))
    assert result.ok, told(result)
    assert result.registry.is_complete
    assert any(result.registry.registered())


def test_a_schema_that_is_not_committed_is_no_answer() -> None:
    """A leader alone had it in its log, gave its id to a second client, and lost power."""
    result = run_seed(277, registry_scenario_of(277))
    assert result.ok, told(result)


def test_members_of_a_share_group_leave_a_broker_that_gave_its_replica_away() -> None:
    """The broker kept the share partition, at the end that the log had then, and members waited there."""
    result = run_seed(4, queue_scenario_of(4))
    assert result.ok, told(result)


def test_a_record_that_was_given_up_and_accepted_before_that_was_saved_does_not_come_again() -> None:
    """The acceptance was answered at once, and the broker died before it saved anything."""
    result = run_seed(211, queue_scenario_of(211))
    assert result.ok, told(result)


def test_readers_look_again_for_a_leader_that_was_missing() -> None:
    """They skipped a partition for ever once they had heard that nobody leads it."""
    result = run_seed(550)
    assert result.ok, told(result)


def test_a_partition_without_records_needs_no_commit() -> None:
    """To have committed nothing was taken for being behind."""
    result = run_seed(27)
    assert result.ok, told(result)


def test_a_controller_that_was_replaced_unawares_does_not_deny_what_it_has_not_heard_of() -> None:
    """A paused one came back and said of a topic made meanwhile that there is none."""
    result = run_seed(736)
    assert result.ok, told(result)


def test_a_marker_that_is_sent_again_is_not_for_the_next_transaction() -> None:
    """Its guard was taken away, and the batch that waited with it was refused with INVALID_TXN_STATE."""
    result = run_seed(6, rough(6, "late", "loss", transactors=2, topics={"t": 2}))
    assert result.ok, told(result)


def test_a_coordinator_that_was_replaced_unawares_tells_no_producer_that_its_transaction_is_over() -> None:
    """What it knew was older than what its successor had decided: a commit got INVALID_TXN_STATE."""
    plan = rough(
        35,
        "deposed",
        transactors=1,
        topics={"t": 3},
        sends_per_second=2.0,
        fault_gap_seconds=2.0,
        fault_seconds=9.0,
    )
    result = run_seed(35, plan)
    assert result.ok, told(result)


def test_a_topic_is_not_made_again_by_a_request_that_comes_after_its_deletion() -> None:
    """An earlier try of its creation, long given up by the broker that passed it on, made it anew."""
    result = run_seed(60395)
    assert result.ok, told(result)


def test_a_marker_of_the_first_protocol_that_outlives_its_coordinator_is_not_delivered() -> None:
    """Nothing tells it from one of the present while its successor has not written there, as in Kafka."""
    result = run_seed(6304, cores_scenario_of(6304))
    assert result.ok, told(result)


def test_a_leader_of_two_voters_that_removes_itself_and_dies_leads_again() -> None:
    """It alone had the entry, so that the other could not win, and did not campaign, being no voter by it."""
    result = run_seed(930042, registry_scenario_of(930042))
    assert result.ok, told(result)


def test_every_fault_is_drawn_by_some_seed() -> None:
    plans = [plan(seed) for seed in range(300) for plan in PLANS]
    drawn = {fault for plan in plans for fault in plan.faults}
    assert drawn == set(FAULT_NAMES) == set(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_alone(fault: str) -> None:
    scenario = msgspec.structs.replace(
        scenario_of(1),
        nodes=3,
        replicas=3,
        min_insync=2,
        durability="fsync",
        acks=(-1,),
        faults=(fault,),
        fault_seconds=4.0,
    )
    result = run_seed(1, scenario)
    assert result.ok, told(result)
    assert result.faults > 0


def test_a_seed_is_the_same_run_every_time_and_another_seed_another() -> None:
    hashes = set()
    for seed in SEEDS_RUN_TWICE:
        first, second = run_seed(seed), run_seed(seed)
        lived(first)
        assert first.trace_hash == second.trace_hash
        assert (first.steps, first.virtual_seconds) == (second.steps, second.virtual_seconds)
        hashes.add(first.trace_hash)
    assert len(hashes) == len(SEEDS_RUN_TWICE)


@pytest.mark.parametrize("seed", QUEUE_SEEDS_RUN_TWICE)
def test_a_seed_of_share_groups_is_the_same_run_every_time(seed: int) -> None:
    first, second = (run_seed(seed, queue_scenario_of(seed)) for _ in range(2))
    lived_with_share_groups(first)
    assert first.trace_hash == second.trace_hash
    assert (first.steps, first.virtual_seconds) == (second.steps, second.virtual_seconds)
    assert first.shares.to_lines() == second.shares.to_lines()
