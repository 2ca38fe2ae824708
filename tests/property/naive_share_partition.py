"""A share partition as a dict with an entry for each record, and a store of saved state: slow and obvious."""

from dataclasses import dataclass, replace

from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.unsaved import Unsaved
from tidelog.shares.states import AT_ONCE, AckType, DeadLetterWrite, DeliveryState, ShareState, StateBatch

AVAILABLE, HELD, SCHEDULED, DELAYED = "available", "held", "scheduled", "delayed"
ARCHIVING, ACCEPTED, ARCHIVED = "archiving", "accepted", "archived"
DONE = (ACCEPTED, ARCHIVED)
STORED = {ACCEPTED: 2, ARCHIVING: 3, ARCHIVED: 4}


@dataclass
class NaiveRecord:
    state: str = AVAILABLE
    count: int = 0
    member_id: str = ""
    deadline: float = 0.0
    available_at: int = AT_ONCE


class NaivePartition:
    def __init__(self, start: int, limits: Limits) -> None:
        self.start = self.end = self.gone_below = start
        self.limits = limits
        self.records: dict[int, NaiveRecord] = {}
        self.dead_letters: DeadLetterWrite | None = None

    def count_of(self, *states: str) -> int:
        return sum(record.state in states for record in self.records.values())

    def in_range(self, first: int, last: int, state: str) -> list[int]:
        return [
            offset
            for offset in range(max(first, self.start), last + 1)
            if self.records.get(offset, NaiveRecord()).state == state
        ]

    def extend(self, end: int) -> None:
        for offset in range(self.end, end):
            self.records[offset] = NaiveRecord()
        self.end = max(self.end, end)

    def advance(self) -> None:
        while self.start < self.end and self.records[self.start].state in DONE:
            del self.records[self.start]
            self.start += 1

    def last_deliverable(self) -> int:
        if self.count_of(DELAYED) >= self.limits.delayed_max:
            return self.start - 1
        return max(self.end, self.start + self.limits.window_max) - 1

    def next_offset(self) -> int | None:
        if self.count_of(HELD) >= self.limits.record_locks_max:
            return None
        at = next(iter(self.in_range(self.start, self.end - 1, AVAILABLE)), self.end)
        return at if at <= self.last_deliverable() else None

    def acquire(self, member_id: str, first: int, last: int, records_max: int, now: float) -> dict[int, int]:
        last = min(last, self.last_deliverable())
        room = min(records_max, self.limits.record_locks_max - self.count_of(HELD))
        limit, throttled = self.limits.delivery_count_limit, self.limits.throttled_count
        taken: dict[int, int] = {}
        begun = -1
        for offset in self.in_range(first, last, AVAILABLE):
            count = self.records.get(offset, NaiveRecord()).count
            if begun < 0:
                begun = count
                if limit > 2 and count >= limit - 1:
                    room = min(room, 1)
                elif count >= throttled:
                    room = min(room, max(1, room >> (count - throttled + 1)))
            elif count != begun and max(count, begun) >= throttled:
                break
            if len(taken) >= room:
                break
            taken[offset] = count + 1
        if taken:
            self.extend(max(taken) + 1)
        for offset, count in taken.items():
            self.records[offset] = NaiveRecord(HELD, count, member_id, now + self.limits.lock_seconds)
        return taken

    def mark(self, first: int, last: int, before: str, after: str) -> bool:
        offsets = self.in_range(first, last, before)
        if offsets:
            self.extend(offsets[-1] + 1)
        for offset in offsets:
            self.records[offset].state = after
        self.advance()
        return bool(offsets)

    def is_right(self, member_id: str, batches: list[AckBatch]) -> bool:
        last_before = -1
        for batch in batches:
            size = batch.last - batch.first + 1
            if batch.first <= last_before or size < 1 or len(batch.types) not in (1, size):
                return False
            if not all(0 <= kind <= 4 for kind in batch.types) or batch.delay_ms < -1:
                return False
            if not self.limits.renew_enabled and AckType.RENEW in batch.types:
                return False
            for offset in range(max(batch.first, self.start, self.gone_below), batch.last + 1):
                record = self.records.get(offset)
                if record is None or (record.state, record.member_id) != (HELD, member_id):
                    return False
            last_before = batch.last
        return True

    def acknowledge(self, member_id: str, batches: list[AckBatch], now: float, now_ms: int) -> bool:
        self.expire(now, now_ms)
        if not self.is_right(member_id, batches):
            return False
        for batch in batches:
            for at, offset in enumerate(range(batch.first, batch.last + 1)):
                kind = batch.types[at if len(batch.types) > 1 else 0]
                record = self.records.get(offset)
                if record is None or offset < self.gone_below:
                    continue
                if kind == AckType.RENEW:
                    record.deadline = now + self.limits.lock_seconds
                elif kind == AckType.ACCEPT:
                    record.state = ACCEPTED
                elif kind == AckType.RELEASE:
                    self.fail(record, batch.delay_ms, now_ms)
                elif kind == AckType.REJECT and self.limits.has_dead_letters:
                    record.state = ARCHIVING
                else:
                    record.state = ARCHIVED
        self.advance()
        return True

    def fail(self, record: NaiveRecord, delay_ms: int, now_ms: int) -> None:
        limits = self.limits
        if record.count >= limits.delivery_count_limit:
            record.state = ARCHIVING if limits.has_dead_letters else ARCHIVED
            return
        if delay_ms < 0:
            delay_ms = min(limits.backoff_ms * 2 ** (record.count - 1), limits.backoff_max_ms)
        record.state = DELAYED if delay_ms > 0 else AVAILABLE
        record.available_at = now_ms + delay_ms

    def expire(self, now: float, now_ms: int) -> None:
        for record in self.records.values():
            if record.state == HELD and record.deadline <= now:
                self.fail(record, -1, now_ms)
        self.advance()

    def release(self, member_id: str, now: float, now_ms: int) -> None:
        self.expire(now, now_ms)
        for record in self.records.values():
            if record.state == HELD and record.member_id == member_id:
                self.fail(record, -1, now_ms)
        self.advance()

    def wake(self, now_ms: int) -> None:
        for record in self.records.values():
            if record.state == DELAYED and record.available_at <= now_ms:
                record.state = AVAILABLE

    def move_start(self, log_start: int) -> None:
        if log_start <= max(self.start, self.gone_below):
            return
        self.extend(log_start)
        first_kept = log_start - self.limits.window_max + 1
        for offset in range(self.start, log_start):
            is_kept = self.records[offset].state == ARCHIVING and offset >= first_kept
            if not is_kept and self.records[offset].state not in DONE:
                self.records[offset].state = ARCHIVED
        self.gone_below = log_start
        self.advance()

    def written(self) -> None:
        assert self.dead_letters is not None
        for first, last in self.dead_letters.offsets:
            for offset in self.in_range(first, last, ARCHIVING):
                self.records[offset].state = ARCHIVED
        self.dead_letters = None
        self.advance()

    def reload(self) -> None:
        """Another broker leads: locks and schedules are gone, and so is what no save has reached."""
        self.gone_below = self.start
        for record in self.records.values():
            if record.state == HELD:
                record.state, record.count = AVAILABLE, record.count - 1
            elif record.state == SCHEDULED:
                record.state = AVAILABLE
        while self.end > self.start and self.records[self.end - 1] == replace(
            self.records[self.end - 1], state=AVAILABLE, count=0
        ):
            self.end -= 1
            del self.records[self.end]


class NaiveStore:
    """What the share coordinator has of a share partition."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.records: dict[int, StateBatch] = {}
        self.dead_letters: DeadLetterWrite | None = None

    def write(self, unsaved: Unsaved) -> None:
        self.start = unsaved.start_offset
        self.dead_letters = unsaved.dead_letters
        before = -1
        for batch in unsaved.batches:
            assert before < batch.first_offset <= batch.last_offset
            assert batch.first_offset >= self.start
            assert batch.state is not DeliveryState.ACQUIRED
            before = batch.last_offset
            for offset in range(batch.first_offset, batch.last_offset + 1):
                stored = self.records.get(offset)
                assert stored is None or not stored.state.is_done or batch.state is stored.state
                self.records[offset] = batch._replace(first_offset=offset, last_offset=offset)
        self.records = {offset: batch for offset, batch in self.records.items() if offset >= self.start}

    def state(self) -> ShareState:
        """Stored batches are long where neighbours are alike."""
        batches: list[StateBatch] = []
        for _, batch in sorted(self.records.items()):
            if batches and batches[-1].last_offset + 1 == batch.first_offset and batches[-1][2:] == batch[2:]:
                batches[-1] = batches[-1]._replace(last_offset=batch.last_offset)
            else:
                batches.append(batch)
        return ShareState(1, self.start, tuple(batches), self.dead_letters)
