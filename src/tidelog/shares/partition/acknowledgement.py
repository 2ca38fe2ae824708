"""Acknowledgements of a member, and what is wrong with them, in Kafka's errors.

They are checked as a whole before anything changes: all of a partition's batches hold, or none.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.shares.partition.chunk import CHUNK_RECORDS
from tidelog.shares.partition.limits import DELAY_MS_MAX, Limits
from tidelog.shares.partition.locks import Locks
from tidelog.shares.partition.window import Window
from tidelog.shares.states import AckType

GROUP_BACKOFF = -1
"""A delay of the group's choice."""


class AckBatch(NamedTuple):
    first: Offset
    last: Offset
    types: Sequence[int]
    """One for all offsets, or one for each."""
    delay_ms: int = GROUP_BACKOFF
    """When a released record is available again."""

    def runs(self) -> list[tuple[Offset, Offset, int]]:
        """Returns neighbouring offsets with the same type."""
        if len(self.types) == 1:
            return [(self.first, self.last, self.types[0])]
        runs = []
        first = self.first
        for kind, group in groupby(self.types):
            last = first + sum(1 for _ in group) - 1
            runs.append((first, last, kind))
            first = last + 1
        return runs


def check(
    window: Window,
    locks: Locks,
    limits: Limits,
    member_id: str,
    batches: Sequence[AckBatch],
    *,
    below: Offset,
) -> KafkaError | None:
    """Returns why these acknowledgements are refused; None if all of them hold. Records below `below` are
    gone, and acknowledging them has no effect, as in Kafka."""
    last_before = -1
    for batch in batches:
        refusal = _check_form(batch, last_before) or _check_held(
            window, locks, member_id, max(batch.first, below), batch.last
        )
        if refusal is not None:
            return refusal
        if AckType.RENEW in batch.types and not limits.renew_enabled:
            return _state("the group does not allow to renew locks; see share.renew.acknowledge.enable")
        last_before = batch.last
    return None


def _check_form(batch: AckBatch, last_before: Offset) -> KafkaError | None:
    first, last, types, delay_ms = batch
    if first > last or first < 0:
        return _request(f"offsets {first} to {last} are no range")
    if first <= last_before:
        if first < last_before:
            return _request(f"the batch at offset {first} overlaps the batch before; send each offset once")
        return _state(f"offset {first} is acknowledged twice in one request")
    if len(types) != 1 and len(types) != last - first + 1:
        return _request(
            f"offsets {first} to {last} have {len(types)} acknowledgement types; send one for all or one each"
        )
    if not 0 <= min(types) <= max(types) <= AckType.RENEW:
        return _request(f"the acknowledgement types of offsets {first} to {last} must be from 0 to 4")
    if not GROUP_BACKOFF <= delay_ms <= DELAY_MS_MAX:
        return _request(f"a delay of {delay_ms} ms is not within 0 and {DELAY_MS_MAX} ms")
    return None


def _check_held(
    window: Window, locks: Locks, member_id: str, first: Offset, last: Offset
) -> KafkaError | None:
    if last < first:
        return None
    if last >= window.end:
        if window.start == window.end:
            return _state(f"no record at offsets {first} to {last} is acquired")
        return _request(f"offset {last} is behind the last record that was acquired")
    for index, bits in window.parts(first, last):
        chunk = window.chunks.get(index)
        if chunk is None or chunk.held & bits != bits:
            return _state(
                f"a record at offsets {first} to {last} is not acquired: it was acknowledged before, or its "
                "lock ended"
            )
        base = index * CHUNK_RECORDS
        if locks.others(member_id, max(first, base), min(last, base + CHUNK_RECORDS - 1)):
            return _state(f"another member holds a record at offsets {first} to {last}")
    return None


def _request(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _state(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD_STATE, message)
