"""The checks of share groups can fail: each rule that is broken here on purpose, one of them catches."""

import asyncio
from collections.abc import Callable, Iterable

import msgspec
import pytest

from tests.sim.test_seeded_bugs import problems_until
from tidelog.broker.shares import finished_records, outbox, state_saver
from tidelog.broker.shares.dead_letters.job import LetterJob
from tidelog.broker.shares.dead_letters.sending import LetterSender
from tidelog.broker.shares.delivery import _Aborted
from tidelog.broker.shares.group_limits import GroupLimits
from tidelog.broker.shares.schedule.schedule import Schedule
from tidelog.broker.shares.state_saver import Done, StateSaver
from tidelog.shares.finished import Starts
from tidelog.shares.partition import unsaved
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.load import StateLoad
from tidelog.shares.partition.locks import Locks
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.state import shard
from tidelog.shares.state.records import UNCHANGED
from tidelog.shares.state.shard import ShareStateShard
from tidelog.shares.states import AckType, DeadLetterWrite, StateBatch
from tidelog.testing.share_history import ShareGroupPlan
from tidelog.testing.sim.cluster.scenario import Scenario, rough_queues
from tidelog.testing.sim.faults.world import World
from tidelog.wire.apis import ApiKey

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

LETTERS = {"delivery_limit": 2, "dead_letter_topic": "dlq.share-0", "dead_letter_partitions": 1}
apply = SharePartition._apply

REPLACED_SEED = 10
"""Where this bug was found first."""


def queues(*faults: str, **plan: object) -> Callable[[int], Scenario]:
    return lambda seed: rough_queues(seed, *faults, **plan)


# Records come once


def test_an_acknowledgement_that_is_answered_before_it_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: StateSaver, now: float, done: Done) -> bool:
        self.save()
        return True

    monkeypatch.setattr(StateSaver, "when_saved", at_once)
    problems_until("^delivered again", queues("kill", "late_saves"))


def test_a_load_that_takes_finished_records_for_available(monkeypatch: pytest.MonkeyPatch) -> None:
    put = StateLoad.put

    def careless(self: StateLoad, batches: Iterable[StateBatch]) -> None:
        put(self, [batch for batch in batches if not batch.state.is_done])

    monkeypatch.setattr(StateLoad, "put", careless)
    problems_until("^delivered again", queues("kill"))


def test_a_leader_that_was_replaced_and_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = ShareStateShard._refusal

    def trusting(self: ShareStateShard, place: object, state: object, what: str, epoch: int) -> object:
        return refusal(self, place, state, what, 2**31 - 1)  # type: ignore[arg-type]

    monkeypatch.setattr(ShareStateShard, "_refusal", trusting)
    write = ShareStateShard.write  # whose sequence numbers would refuse most of these writes, too
    monkeypatch.setattr(
        ShareStateShard, "write", lambda self, place, one: write(self, place, one._replace(sequence=-1))
    )
    problems_until(
        "^delivered again|^delivery count",
        queues("pause", "leader_change", "late_saves"),
        first_seed=REPLACED_SEED,
    )


def test_a_save_of_the_same_leader_that_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would undo what a later save says."""

    async def late_saves(world: World) -> None:
        hosts = [machine.host for machine in world.cluster.machines]
        world.cluster.network.lateness.begin(0.5, hosts, (0.5, 3.0), (ApiKey.WRITE_SHARE_GROUP_STATE,))
        await asyncio.sleep(5.0)

    write = ShareStateShard.write
    monkeypatch.setattr(
        ShareStateShard, "write", lambda self, place, one: write(self, place, one._replace(sequence=-1))
    )
    monkeypatch.setattr(outbox, "CALL_SECONDS", 0.4)
    problems_until("^delivered again|^delivery count|is stored$", queues(), script=late_saves)


def test_a_save_of_which_a_part_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    write = ShareStateShard.write
    monkeypatch.setattr(
        ShareStateShard,
        "write",
        lambda self, place, one: write(self, place, one._replace(batches=one.batches[:3])),
    )
    problems_until("^at .* is stored$", queues())


def test_a_coordinator_that_forgets_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    decode = shard.decode_update
    monkeypatch.setattr(
        shard, "decode_update", lambda value: decode(value)._replace(start_offset=UNCHANGED, batches=())
    )
    problems_until(
        "^at .* the state of share-0 .* went from", queues("kill", "leader_change", updates_per_snapshot=50)
    )


# Deliveries are counted


def test_deliveries_that_are_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    in_state = unsaved._in_state
    monkeypatch.setattr(
        unsaved,
        "_in_state",
        lambda *given: [batch._replace(delivery_count=0) for batch in in_state(*given)],
    )
    problems_until("^delivery count", queues("kill"))


def test_deliveries_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = GroupLimits._resolve
    monkeypatch.setattr(
        GroupLimits, "_resolve", lambda self, group: resolve(self, group)._replace(delivery_count_limit=99)
    )
    problems_until("^delivery count.*the limit is", queues(group={"delivery_limit": 2}))


# Locks


def test_locks_that_end_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = GroupLimits._resolve
    monkeypatch.setattr(
        GroupLimits, "_resolve", lambda self, group: resolve(self, group)._replace(lock_seconds=0.3)
    )
    problems_until("^two holders", queues())


def test_another_member_acknowledges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Locks, "others", lambda *_: False)
    problems_until("^foreign acknowledgement", queues(members=4, sends_per_second=12.0))


def test_locks_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = GroupLimits._resolve
    monkeypatch.setattr(
        GroupLimits, "_resolve", lambda self, group: resolve(self, group)._replace(record_locks_max=10_000)
    )
    problems_until("^too many locks", queues(members=4, sends_per_second=12.0, batch_records=(10, 40)))


# Every record is finished


def test_a_record_that_is_given_up_too_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(self: SharePartition, index: int, bits: int, delay_ms: int, now_ms: int) -> None:
        self._window.finish(index, bits, bits.bit_count(), accepted=False)

    monkeypatch.setattr(SharePartition, "_fail_delivery", give_up)
    problems_until("^lost record", queues())


def test_a_delayed_record_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharePartition, "wake", lambda *_: None)
    monkeypatch.setattr("tidelog.testing.sim.cluster.queues.DRAIN_SECONDS", 4.0)
    problems_until("^unfinished", queues())


def test_a_record_that_is_deleted_before_every_group_has_finished_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_the_first(starts: Starts, partition: int, *_: int) -> int | None:
        """Of the group that is furthest."""
        found = [one[partition].start_offset for one in starts.values() if partition in one]
        return max(found, default=None)

    monkeypatch.setattr(finished_records, "finished_below", of_the_first)
    plan = ShareGroupPlan("share-0", delivery_limit=5, lock_ms=1_000, locks_max=100)
    slow = msgspec.structs.replace(plan, group="share-1", lock_ms=2_000)
    problems_until("^deleted too early", queues(groups=(plan, slow), deletes=True, sends_per_second=12.0))


def test_an_aborted_record_that_is_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Aborted, "has", lambda self, header: False)
    problems_until("^aborted delivery", queues("client_crash", group={"committed_only": True}, transactors=2))


# Dead letters


def test_a_dead_letter_that_is_sent_again_under_another_number(monkeypatch: pytest.MonkeyPatch) -> None:
    send_begun = LetterJob._send_begun

    async def renumber(self: LetterJob, begun: DeadLetterWrite) -> int:
        self.led.share.renumber_dead_letters(await self._tools.take_producer_id(), 0, 0)
        assert self.led.share.dead_letters is not None
        return await send_begun(self, self.led.share.dead_letters)

    monkeypatch.setattr(LetterJob, "_send_begun", renumber)
    problems_until("^dead letter.*times", queues("loss", "kill", group=LETTERS, sends_per_second=12.0))


def test_a_dead_letter_that_is_not_saved_as_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    save_request = state_saver.save_request
    monkeypatch.setattr(
        state_saver,
        "save_request",
        lambda place, state_epoch, leader_epoch, unsaved: save_request(
            place, state_epoch, leader_epoch, unsaved._replace(dead_letters=None)
        ),
    )
    problems_until(
        "^dead letter.*times",
        queues("kill_letters", group=LETTERS, sends_per_second=12.0),
    )


def test_a_dead_letter_that_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(self: LetterSender, target: object, batch: object) -> None:
        return

    monkeypatch.setattr(LetterSender, "send", forget)
    problems_until("^dead letter.*has none", queues(group=LETTERS))


def test_a_dead_letter_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        SharePartition,
        "_apply",
        lambda self, index, bits, kind, delay_ms, now_ms: apply(
            self, index, bits, AckType.REJECT, delay_ms, now_ms
        ),
    )
    problems_until("^dead letter.*after ACCEPT", queues(group=LETTERS))


# Time


def test_a_scheduled_record_that_is_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Schedule, "in_batch", lambda *_: [])
    problems_until("^early delivery", queues(scheduled=True))


def test_a_retry_that_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "retry_at", lambda self, count, delay_ms, now_ms: now_ms)
    problems_until("^early retry", queues())


def test_delays_that_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    put = StateLoad.put
    monkeypatch.setattr(
        StateLoad,
        "put",
        lambda self, batches: put(self, [batch._replace(available_at=-1) for batch in batches]),
    )
    problems_until("^early retry", queues("kill", "leader_change"))
