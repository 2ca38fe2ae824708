"""A few seeds of the simulator; `make sim SEEDS=0-1999` runs many. A failure says how to replay it."""

import msgspec
import pytest

from tidelog.testing.sim.cluster.scenario import FAULT_NAMES, rough, scenario_of
from tidelog.testing.sim.faults.registry import FAULTS
from tidelog.testing.sim.run import Result, run_seed

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


def told(result: Result) -> str:
    return "\n".join([*result.problems[:20], result.scenario.describe(), f"replay: {result.replay}"])


@pytest.mark.parametrize("seed", range(16))
def test_a_cluster_survives(seed: int) -> None:
    result = run_seed(seed)
    assert result.ok, told(result)
    assert result.records_read > 0


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


def test_every_fault_is_drawn_by_some_seed() -> None:
    drawn = {fault for seed in range(300) for fault in scenario_of(seed).faults}
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


@pytest.mark.parametrize("seed", [3, 5])
def test_a_seed_is_the_same_run_every_time(seed: int) -> None:
    first, second = run_seed(seed), run_seed(seed)
    assert first.trace_hash == second.trace_hash
    assert (first.steps, first.virtual_seconds) == (second.steps, second.virtual_seconds)


def test_another_seed_is_another_run() -> None:
    assert run_seed(8).trace_hash != run_seed(14).trace_hash
