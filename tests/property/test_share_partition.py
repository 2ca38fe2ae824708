"""The share partition's bit sets against a dict with an entry for each record, through random lives."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.property import naive_share_partition as naive
from tests.property.naive_share_partition import NaivePartition, NaiveStore
from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.partition.chunk import CHUNK_RECORDS, CHUNK_SHIFT, IN_CHUNK
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.record_states import TO_THE_END
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.partition.unsaved import Unsaved
from tidelog.shares.states import AT_ONCE, DeliveryState, ShareState

MEMBERS = ("ann", "bob", "cleo")
TOPIC = bytes(15) + b"\x01"
BASE = Limits(
    lock_seconds=10,
    delivery_count_limit=5,
    record_locks_max=40,
    window_max=60,
    delayed_max=15,
    backoff_max_ms=5_000,
)
SHOWN_AS = {
    naive.AVAILABLE: DeliveryState.AVAILABLE,
    naive.DELAYED: DeliveryState.AVAILABLE,
    naive.HELD: DeliveryState.ACQUIRED,
    naive.ARCHIVING: DeliveryState.ARCHIVING,
    naive.ACCEPTED: DeliveryState.ACKNOWLEDGED,
    naive.ARCHIVED: DeliveryState.ARCHIVED,
}
LIMITS = (
    BASE,
    BASE._replace(has_dead_letters=True, backoff_ms=700),
    BASE._replace(delivery_count_limit=2, renew_enabled=False),
    BASE._replace(delivery_count_limit=8, record_locks_max=7, window_max=12, has_dead_letters=True),
)


def state_of(partition: SharePartition, offset: int) -> tuple[str, int]:
    window = partition._window
    chunk = window.chunks.get(offset >> CHUNK_SHIFT)
    if chunk is None:
        return naive.AVAILABLE, 0
    at = offset & IN_CHUNK
    sets = {
        naive.HELD: chunk.held,
        naive.SCHEDULED: chunk.scheduled,
        naive.DELAYED: chunk.delayed,
        naive.ARCHIVING: chunk.archiving,
        naive.ARCHIVED: chunk.done & chunk.archived,
        naive.ACCEPTED: chunk.done & ~chunk.archived,
    }
    states = [name for name, bits in sets.items() if bits >> at & 1]
    assert len(states) == chunk.unavailable >> at & 1
    return (states or [naive.AVAILABLE])[0], chunk.counts.of(at)


class Life:
    """Both partitions, and a store, which see the same calls."""

    def __init__(self, start: int, limits: Limits) -> None:
        self.store = NaiveStore(start)
        self.model = NaivePartition(start, limits)
        self.partition = SharePartition(ShareState(1, start), limits)
        self.now, self.now_ms = 1_000.0, 1_700_000_000_000
        self.saving: Unsaved | None = None
        self.done: set[int] = set()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.now_ms += int(seconds * 1_000)

    def set_limits(self, limits: Limits) -> None:
        self.partition.limits = self.model.limits = limits

    def acquire(self, member_id: str, first: int, last: int, records_max: int) -> None:
        runs = self.partition.acquire(member_id, first, last, records_max=records_max, now=self.now)
        taken = {at: run.delivery_count for run in runs for at in range(run.first, run.last + 1)}
        assert not taken.keys() & self.done
        assert taken == self.model.acquire(member_id, first, last, records_max, self.now)

    def acknowledge(self, member_id: str, batches: list[AckBatch]) -> None:
        refusal = self.partition.acknowledge(member_id, batches, self.now, self.now_ms)
        assert (refusal is None) == self.model.acknowledge(member_id, batches, self.now, self.now_ms)

    def release(self, member_id: str) -> None:
        self.partition.release({member_id}, self.now, self.now_ms)
        self.model.release(member_id, self.now, self.now_ms)

    def tick(self) -> None:
        self.partition.expire(self.now, self.now_ms)
        self.partition.wake(self.now_ms)
        self.model.expire(self.now, self.now_ms)
        self.model.wake(self.now_ms)

    def mark(self, what: str, first: int, last: int) -> None:
        if what == "skip":
            last = min(last, self.model.start + self.model.limits.window_max - 1)
            self.partition.skip(first, last)
            self.model.mark(first, last, naive.AVAILABLE, naive.ARCHIVED)
        elif what == "schedule":
            self.partition.schedule(first, last)
            self.model.mark(first, last, naive.AVAILABLE, naive.SCHEDULED)
        else:
            self.partition.due(first, last)
            self.model.mark(first, last, naive.SCHEDULED, naive.AVAILABLE)

    def move_start(self, log_start: int) -> None:
        self.partition.move_start(log_start)
        self.model.move_start(log_start)

    def take(self) -> None:
        if self.saving is None:
            self.saving = self.partition.take_unsaved()
            if self.saving is not None:
                assert self.saving.delivery_complete_count == self.model.count_of(*naive.DONE)
        else:
            assert self.partition.take_unsaved() is None

    def end_save(self, *, written: bool, answered: bool) -> None:
        if self.saving is not None:
            if written:
                self.store.write(self.saving)
            if answered and written:
                self.partition.saved(self.saving)
            else:
                self.partition.not_saved(self.saving)
            self.saving = None

    def dead_letters(self, records_max: int) -> None:
        if self.model.dead_letters is not None:
            reasons = self.partition.dead_letter_reasons()
            assert [at for run in reasons for at in range(run.first, run.last + 1)] == [
                at
                for first, last in self.model.dead_letters.offsets
                for at in self.model.in_range(first, last, naive.ARCHIVING)
            ]
            self.partition.dead_letters_written()
            self.model.written()
            return
        archiving = self.model.in_range(self.model.start, self.model.end, naive.ARCHIVING)
        runs = self.partition.first_undeliverable(records_max)
        offsets = tuple((run.first, run.last) for run in runs)
        begun = self.partition.begin_dead_letters(7, 0, 3, TOPIC, 2, offsets=offsets)
        assert (begun is None) == (not archiving)
        if begun is not None:
            covered = [at for first, last in begun.offsets for at in range(first, last + 1)]
            assert covered == archiving[:records_max]
        self.model.dead_letters = begun

    def reload(self) -> None:
        self.end_save(written=True, answered=True)
        self.take()
        self.end_save(written=True, answered=True)
        assert self.partition.saved_version == self.partition.unsaved_version
        self.partition = SharePartition(self.store.state(), self.model.limits)
        self.partition.wake(self.now_ms)
        self.model.wake(self.now_ms)
        self.model.reload()

    def check(self) -> None:
        partition, model = self.partition, self.model
        assert (partition.start_offset, partition.end_offset) == (model.start, model.end)
        for offset, record in model.records.items():
            assert state_of(partition, offset) == (record.state, record.count), offset
        assert partition.acquired == model.count_of(naive.HELD)
        assert partition.available == model.count_of(naive.AVAILABLE)
        assert partition.scheduled == model.count_of(naive.SCHEDULED)
        assert partition.delayed == model.count_of(naive.DELAYED)
        assert partition.archiving == model.count_of(naive.ARCHIVING)
        assert partition.done == model.count_of(*naive.DONE)
        done_at = [at for at, record in model.records.items() if record.state in naive.DONE]
        for first in (model.start, model.gone_below, model.start + 5):
            passed = max(0, model.start - first)
            assert partition.done_from(first) == passed + sum(at >= first for at in done_at)
        assert partition.dead_letters == model.dead_letters
        assert partition.next_offset() == model.next_offset()
        unfinished = [record for record in model.records.values() if record.state not in naive.DONE]
        assert partition.delivery_counts() == Counter(one.count for one in unfinished if one.count)
        self._check_locks()
        self._check_record_states()
        delays = [record.available_at for record in model.records.values() if record.state == naive.DELAYED]
        if delays:
            assert partition.next_due_ms is not None
            assert partition.next_due_ms <= min(delays)
        self.done |= {at for at, record in model.records.items() if record.state in naive.DONE}

    def _check_record_states(self) -> None:
        runs, to = self.partition.record_states(self.model.start)
        assert to == TO_THE_END
        found = {
            at: (run.state, run.delivery_count, run.available_at)
            for run in runs
            for at in range(run.first_offset, run.last_offset + 1)
        }
        assert len(found) == sum(run.last_offset - run.first_offset + 1 for run in runs)
        expected = {}
        for at, record in self.model.records.items():
            if record.state in SHOWN_AS and (record.count or record.state != naive.AVAILABLE):
                due = record.available_at if record.state == naive.DELAYED else AT_ONCE
                expected[at] = (SHOWN_AS[record.state], record.count, due)
        assert found == expected

    def _check_locks(self) -> None:
        held = {at: record for at, record in self.model.records.items() if record.state == naive.HELD}
        owners: dict[int, tuple[str, float]] = {}
        for lock in self.partition.locks:
            of_lock = [at for at in range(lock.first, lock.last + 1) if at in held]
            assert len(of_lock) == lock.records > 0
            assert lock.first >> CHUNK_SHIFT == lock.last >> CHUNK_SHIFT
            assert not owners.keys() & of_lock
            owners.update(dict.fromkeys(of_lock, (lock.member_id, lock.deadline)))
        assert {name: holder.records for name, holder in self.partition.holders().items()} == Counter(
            record.member_id for record in held.values()
        )
        assert owners == {at: (record.member_id, record.deadline) for at, record in held.items()}
        assert self.partition.next_deadline == min((one.deadline for one in held.values()), default=None)


@settings(max_examples=150, stateful_step_count=60, deadline=None)
class SharePartitionAndDict(RuleBasedStateMachine):
    @initialize(
        start=st.sampled_from([0, CHUNK_RECORDS - 20, 5 * CHUNK_RECORDS]), limits=st.sampled_from(LIMITS)
    )
    def begin(self, start: int, limits: Limits) -> None:
        self.life = Life(start, limits)

    @rule(seconds=st.sampled_from([0.0, 0.3, 2.0, 10.0]), tick=st.booleans())
    def pass_time(self, seconds: float, tick: bool) -> None:
        self.life.pass_time(seconds)
        if tick:
            self.life.tick()

    @rule(limits=st.sampled_from(LIMITS))
    def set_limits(self, limits: Limits) -> None:
        self.life.set_limits(limits)

    @rule(member=st.sampled_from(MEMBERS), length=st.integers(1, 30), records_max=st.integers(0, 30))
    def fetch(self, member: str, length: int, records_max: int) -> None:
        first = self.life.partition.next_offset()
        if first is not None:
            self.life.acquire(member, first, first + length - 1, records_max)

    @rule(member=st.sampled_from(MEMBERS), at=st.integers(-5, 70), length=st.integers(1, 30))
    def acquire_anywhere(self, member: str, at: int, length: int) -> None:
        first = self.life.model.start + at
        self.life.acquire(member, first, first + length - 1, 100)

    @rule(
        types=st.lists(st.integers(0, 4), min_size=1, max_size=8),
        delay_ms=st.sampled_from([-1, -1, 0, 100, 3_000]),
        skip=st.integers(0, 20),
    )
    def acknowledge_held(self, types: list[int], delay_ms: int, skip: int) -> None:
        held = [(at, one) for at, one in self.life.model.records.items() if one.state == naive.HELD]
        if not held:
            return
        first, record = held[skip % len(held)]
        last = first
        while last - first + 1 < len(types) and (last + 1, record.member_id) in [
            (at, one.member_id) for at, one in held
        ]:
            last += 1
        one_type = skip % 2 or last == first
        batch = AckBatch(first, last, tuple(types[:1] if one_type else types[: last - first + 1]), delay_ms)
        self.life.acknowledge(record.member_id, [batch])

    @rule(
        member=st.sampled_from(MEMBERS),
        batches=st.lists(
            st.tuples(
                st.integers(-3, 65), st.integers(0, 10), st.lists(st.integers(0, 5), min_size=1, max_size=3)
            ),
            min_size=1,
            max_size=3,
        ),
    )
    def acknowledge_anything(self, member: str, batches: list[tuple[int, int, list[int]]]) -> None:
        start = self.life.model.start
        self.life.acknowledge(
            member,
            [AckBatch(max(0, start + at), start + at + more, tuple(types)) for at, more, types in batches],
        )

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        self.life.release(member)

    @rule(what=st.sampled_from(["skip", "schedule", "due"]), at=st.integers(0, 50), length=st.integers(1, 20))
    def mark(self, what: str, at: int, length: int) -> None:
        first = self.life.model.start + at
        self.life.mark(what, first, first + length - 1)

    @rule(by=st.integers(0, 30))
    def move_start(self, by: int) -> None:
        self.life.move_start(self.life.model.start + by)

    @rule()
    def take(self) -> None:
        self.life.take()

    @rule(written=st.booleans(), answered=st.booleans())
    def end_save(self, written: bool, answered: bool) -> None:
        self.life.end_save(written=written, answered=answered)

    @rule(records_max=st.integers(1, 10))
    def dead_letters(self, records_max: int) -> None:
        self.life.dead_letters(records_max)

    @rule()
    def reload(self) -> None:
        self.life.reload()

    @invariant()
    def same(self) -> None:
        if hasattr(self, "life"):
            self.life.check()


TestSharePartitionAndDict = SharePartitionAndDict.TestCase
