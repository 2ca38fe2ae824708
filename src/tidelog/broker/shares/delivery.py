"""Records for one member: batches of the log as they are, and the offsets in them that the member now holds.

Only headers of batches are read. The answer is a slice of the file from the first batch with an acquired
record to the last; clients pass over records in between that are not theirs.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.base.ports import File, FileSlice
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.ports import HeldBack
from tidelog.replication.read_limit import LAST_STABLE_OFFSET
from tidelog.shares.partition.acquisition import Acquired
from tidelog.storage.log import LogRead
from tidelog.storage.segment.batch_walk import walk
from tidelog.wire.batch import CODEC_MASK, CONTROL, OVERHEAD, TRANSACTIONAL, BatchHeader

READS_MAX = 16
"""Reads of the log for one answer, where batches have nothing to deliver."""

LOOK_BYTES_MAX = 512 * 1024
"""Compressed bytes that one call looks into for records to hold back, about 5 ms of work; the rest has the
next turn. As long takes the search of 16 times as many bytes that are not compressed, or of a record of
HELD_BACK_BYTES that is held back."""
PLAIN_SHIFT = 4
HELD_BACK_BYTES = 512

BATCHES_MAX = 5_000
"""Headers of batches that one pass reads, however many of them a client asks for: about 10 ms of work."""

LOCKS_SHARE = 2
"""One fetch takes at most this part of a partition's locks while others wait for records."""


class Ask(NamedTuple):
    """What one fetch may take of a share partition."""

    member_id: str
    records_max: int
    bytes_max: int
    is_strict: bool
    """Not a record more than `records_max`; otherwise the last batch is taken as a whole."""
    batch_size: int
    """Ranges in the answer are split at batches, as soon as they have this many records."""
    takes_large: bool
    """The first batch is delivered even if it is larger than `bytes_max`."""
    others_wait: bool
    """Another fetch waits for records of the share partition."""


class Delivery(NamedTuple):
    records: FileSlice
    acquired: list[Acquired]
    records_count: int


def deliver(led: LedShare, ask: Ask, now: float, held_back: HeldBack | None) -> Delivery | None:
    """Acquire and read; None where there is nothing to take. KafkaError if the log cannot be read."""
    if held_back is not None:
        held_back.check_clock()
    try:
        return _deliver(led, ask, now, held_back)
    except OSError as error:
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR, f"cannot read {led.partition.log.directory}: {error}"
        ) from error


def _deliver(led: LedShare, ask: Ask, now: float, held_back: HeldBack | None) -> Delivery | None:
    share, partition = led.share, led.partition
    log = partition.log
    led.follow_log_start()
    end = partition.readable_end(led.read_limit)
    look_bytes = LOOK_BYTES_MAX
    for _ in range(READS_MAX):
        offset = share.next_offset()
        if offset is None or offset >= end:
            return None
        read = log.read(offset, ask.bytes_max, end=end, min_one=ask.takes_large)
        if read is None:
            return None
        passed = _Pass(led, ask.records_max, held_back, look_bytes)
        passed.run(offset, end, read)
        look_bytes = passed.look_bytes
        if passed.has_skipped:
            led.changed()
        if passed.deliverable:
            # Once for each fetch: records near their last delivery come alone within one call.
            most = _most(led, ask, passed.deliverable)
            acquired = share.acquire(ask.member_id, offset, passed.last, records_max=most, now=now)
            if acquired:
                led.arm()
                return passed.delivery(ask, read.slice.file, acquired)
        elif not passed.has_skipped:
            return None
        if look_bytes <= 0:
            return None
    return None


def _most(led: LedShare, ask: Ask, deliverable: int) -> int:
    most = ask.records_max if ask.is_strict else deliverable
    if ask.others_wait:
        most = min(most, max(1, led.share.limits.record_locks_max // LOCKS_SHARE))
    return most


class _Pass:
    """One pass over the headers of the batches of a read."""

    __slots__ = (
        "_bases",
        "_held_back",
        "_led",
        "_positions",
        "_records_max",
        "_stop",
        "deliverable",
        "has_skipped",
        "last",
        "look_bytes",
    )

    def __init__(self, led: LedShare, records_max: int, held_back: HeldBack | None, look_bytes: int) -> None:
        self._led = led
        self._records_max = records_max
        self._held_back = held_back
        self._bases: list[Offset] = []
        self._positions: list[int] = []
        self._stop = 0
        self.deliverable = 0
        """Offsets of batches that may be delivered, those that other members hold included."""
        self.last: Offset = -1
        self.has_skipped = False
        """Some offsets are done, or held back."""
        self.look_bytes = look_bytes
        """So many bytes of batches may be looked into yet."""

    def run(self, offset: Offset, end: Offset, read: LogRead) -> None:
        led, share = self._led, self._led.share
        aborted = _Aborted(led, offset, end, read) if led.read_limit is LAST_STABLE_OFFSET else None
        file, position = read.slice.file, read.slice.position
        batches_left = BATCHES_MAX
        for at, header in walk(file, position, position + read.slice.length):
            base, last = header.base_offset, header.last_offset
            if base > offset:  # compaction left nothing in between
                share.skip(offset, base - 1)
                self.has_skipped = True
                offset = base
            if header.attributes & CONTROL or not header.record_count:
                self._skip(offset, last)
                if aborted is not None:
                    aborted.ended(header)
            elif aborted is not None and header.attributes & TRANSACTIONAL and aborted.has(header):
                self._skip(offset, last)
            else:
                self._bases.append(base)
                self._positions.append(at)
                self._stop = at + OVERHEAD + header.length
                self.last = last
                self.deliverable += last - offset + 1
                if self._held_back is not None and last >= led.looked_to:
                    self._hold_back(offset, self._held_back.in_batch(led, file, at, header))
                    led.looked_to = last + 1
                    is_plain = not header.attributes & CODEC_MASK
                    self.look_bytes -= header.length >> PLAIN_SHIFT if is_plain else header.length
                if self.deliverable >= self._records_max or self.look_bytes <= 0:
                    return
            offset = last + 1
            if (batches_left := batches_left - 1) == 0:
                return

    def _skip(self, first: Offset, last: Offset) -> None:
        self._led.share.skip(first, last)
        self.has_skipped = True

    def _hold_back(self, offset: Offset, ranges: Sequence[tuple[Offset, Offset]]) -> None:
        """Of a batch that is delivered from `offset` on."""
        for first, last in ranges:
            if last >= offset:
                self._led.share.schedule(max(first, offset), last)
                self.deliverable -= last - max(first, offset) + 1
                self.look_bytes -= HELD_BACK_BYTES * (last - first + 1)
                self.has_skipped = True

    def delivery(self, ask: Ask, file: File, acquired: list[Acquired]) -> Delivery:
        bases, positions = self._bases, self._positions
        first, last = acquired[0].first, acquired[-1].last
        begin = positions[max(0, bisect_right(bases, first) - 1)]
        after = bisect_right(bases, last)
        stop = positions[after] if after < len(positions) else self._stop
        count = sum([one.last - one.first + 1 for one in acquired])
        if not ask.is_strict and 0 < ask.batch_size < count:
            acquired = list(_split(acquired, bases, ask.batch_size))
        return Delivery(FileSlice(file, begin, stop - begin), acquired, count)


def _split(acquired: Sequence[Acquired], bases: Sequence[Offset], size: int) -> Iterator[Acquired]:
    for one in acquired:
        first = one.first
        # The first batch that begins far enough behind, as long as there is one.
        while (at := bisect_left(bases, first + size)) < len(bases) and bases[at] <= one.last:
            yield one._replace(first=first, last=bases[at] - 1)
            first = bases[at]
        yield one._replace(first=first)


class _Aborted:
    """Which batches of a read belong to aborted transactions; looked up at the first of a transaction."""

    __slots__ = ("_end", "_led", "_offset", "_open", "_read", "_rest")

    def __init__(self, led: LedShare, offset: Offset, end: Offset, read: LogRead) -> None:
        self._led = led
        self._offset, self._end, self._read = offset, end, read
        self._rest: list[tuple[Offset, int]] | None = None
        """First offset and producer id of those that begin further on; the next is the last."""
        self._open: set[int] = set()

    def has(self, header: BatchHeader) -> bool:
        """Whether this transactional batch was aborted."""
        self._begin_up_to(header.last_offset)
        return header.producer_id in self._open

    def ended(self, header: BatchHeader) -> None:
        """A marker: it ends a transaction that may have begun before the read."""
        self._begin_up_to(header.last_offset)
        self._open.discard(header.producer_id)

    def _begin_up_to(self, offset: Offset) -> None:
        if self._rest is None:
            state = self._led.partition.log.producer_state
            found = state.aborted_in(self._read, self._offset, self._end)
            self._rest = sorted(((first, producer) for producer, first in found), reverse=True)
        while self._rest and self._rest[-1][0] <= offset:
            self._open.add(self._rest.pop()[1])
