"""Three replicas under crashes, changes of leader and a bad network: nothing acknowledged is ever lost.

The bugs below are put in on purpose: a check that never fails proves nothing.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.replication.checks import Broken
from tests.rigs.replication.model import ReplicationModel
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.image.entities import PartitionImage
from tidelog.replication import leader as leader_module
from tidelog.replication import partition as partition_module
from tidelog.replication.follower import Follower
from tidelog.replication.leader import Leader
from tidelog.replication.leadership import Leadership
from tidelog.replication.log_sync import LogSync
from tidelog.replication.partition import CommittedIsr, Durability, IsrProposal, Partition

STEPS = 500


def run(seed: int, durability: Durability) -> ReplicationModel:
    model = ReplicationModel(seed, durability, min_insync_replicas=1 + seed % 2, has_elr=seed % 3 > 0)
    model.run(STEPS)
    model.converge()
    return model


@pytest.mark.parametrize("durability", list(Durability))
@settings(max_examples=25)
@given(seed=st.integers(0, 1 << 32))
def test_nothing_acknowledged_is_lost_and_replicas_agree(durability: Durability, seed: int) -> None:
    run(seed, durability)


def test_the_model_does_something() -> None:
    models = [run(seed, Durability.FSYNC) for seed in range(20)]
    told = "\n".join(line for model in models for line in model.history)
    for happened in ("acknowledges", "crashes", "is back", "diverged", "proposes", "out of range", "fences"):
        assert happened in told
    assert sum(len(model.acked) for model in models) > 50
    assert sum(model.controller.eligible_elected for model in models) > 3


def committed_only(leadership: Leadership) -> object:
    return tuple(leadership.follower(node) for node in leadership._isr if leadership.follower(node))


def at_once(
    leader: Leader,
    proposal: IsrProposal,
    error: ErrorCode | None,
    committed: CommittedIsr | None = None,
) -> None:
    partition = leader._partition
    if error is None and committed is not None and leader.is_pending(proposal):
        partition.apply(
            PartitionImage(
                0,
                partition.replicas,
                committed.isr,
                partition.leader_id,
                committed.leader_epoch,
                committed.partition_epoch,
            ),
            0.0,
        )


Bug = Callable[[], AbstractContextManager[object]]

BUGS: dict[str, Bug] = {
    "acknowledges before the in-sync set has it": lambda: patch.object(
        Leadership, "counted", property(lambda _: ())
    ),
    "does not count whom it has proposed": lambda: patch.object(
        Leadership, "counted", property(committed_only)
    ),
    "takes a proposal for void when nobody knows": lambda: patch.object(
        leader_module, "NOT_COMMITTED", frozenset(ErrorCode)
    ),
    "lets in who lags": lambda: patch.object(
        Leadership, "may_join", lambda self, node, _: node not in self._isr and self._followers[node].end >= 0
    ),
    "skips truncation": lambda: patch.object(partition_module, "divergence", lambda *_: None),
    "takes late answers": lambda: patch.object(
        Follower, "_is_current", lambda self, _: not self._partition.is_leader
    ),
    "moves its high watermark with too few in sync": lambda: patch.object(
        Partition, "has_enough_in_sync", property(lambda _: True)
    ),
    "takes a smaller set from an answer that overtook the metadata": lambda: patch.object(
        Leader, "isr_answered", at_once
    ),
    "acknowledges before it has synced": lambda: patch.object(LogSync, "is_synced", lambda *_: True),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_caught(bug: str) -> None:
    with BUGS[bug]():
        for seed in range(200):
            for durability in (Durability.FSYNC, Durability.OS):
                try:
                    run(seed, durability)
                except (Broken, KafkaError):
                    return
    pytest.fail(f"a broker that {bug} goes unnoticed")
