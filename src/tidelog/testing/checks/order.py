"""Checks of order: a consumer goes forward one by one, a producer's records lie as they were sent."""

from bisect import bisect_right
from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.observed import ACKS_ALL, TXN, Observed
from tidelog.testing.history import Completion, Operation, Partition

NEW_PLACES = {"assign", "subscribe", "crash"}
"""After these a consumer may go on anywhere."""

Positions = dict[Partition, int]


def poll_order(seen: Observed) -> Iterator[Anomaly]:
    """Skips and steps back, from one poll to the next and within one."""
    by_process: dict[str, Positions] = {}
    for operation in seen.history:
        if operation.kind in NEW_PLACES:
            by_process.pop(operation.process, None)
            continue
        if operation.read:
            yield from _follow(seen, operation, by_process.setdefault(operation.process, {}))
        if operation.kind == TXN and operation.outcome is not Completion.OK:
            by_process.pop(operation.process, None)  # it goes back to where the transaction began


def _follow(seen: Observed, operation: Operation, positions: Positions) -> Iterator[Anomaly]:
    begun: set[Partition] = set()
    for read in operation.read:
        partition, offset = read.partition, read.offset
        before = positions.get(partition)
        where = "internal " if partition in begun else ""
        if before is not None:
            if offset <= before:
                yield Anomaly(
                    f"{where}non-monotonic poll",
                    f"{operation.process} read {partition} at {before}, then at {offset}",
                )
            else:
                order = seen.order[partition]
                passed = order[bisect_right(order, before) : bisect_right(order, offset - 1)]
                if passed:
                    yield Anomaly(
                        f"{where}poll skip",
                        f"{operation.process} read {partition} at {before}, then at {offset}, "
                        f"and passed by {passed}",
                    )
        positions[partition] = offset
        begun.add(partition)


def send_order(seen: Observed) -> Iterator[Anomaly]:
    """What a producer sent later lies before what it sent earlier."""
    last: dict[tuple[str, Partition], int] = {}
    for operation in sorted(seen.history, key=lambda one: one.started):
        if operation.acks != ACKS_ALL or not operation.idempotent:
            continue  # what is not promised to stay may lie anywhere
        begun: set[Partition] = set()
        for sent in operation.sent:
            if sent.offset is None:
                continue
            key = operation.process, sent.partition
            if sent.offset <= last.get(key, -1):
                where = "internal " if sent.partition in begun else ""
                yield Anomaly(
                    f"{where}non-monotonic send",
                    f"{operation.process} sent to {sent.partition} at {last[key]}, then at {sent.offset}",
                )
            last[key] = sent.offset
            begun.add(sent.partition)
