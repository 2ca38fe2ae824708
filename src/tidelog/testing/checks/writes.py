"""Checks of single values: where they lie, whether they are still there, whether they should be."""

from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.observed import TXN, Observed
from tidelog.testing.history import Completion

FINAL = "final"


def inconsistent_offsets(seen: Observed) -> Iterator[Anomaly]:
    """One place holds two values."""
    for partition, places in seen.places.items():
        for offset, values in places.items():
            if len(values) > 1:
                yield Anomaly("inconsistent offsets", f"{partition} at {offset} holds {' and '.join(values)}")


def duplicates(seen: Observed) -> Iterator[Anomaly]:
    """One value lies at two places, though its producer is idempotent."""
    written_at: dict[str, list[str]] = {}
    for partition, places in seen.places.items():
        for offset, values in places.items():
            for value in values:
                written_at.setdefault(value, []).append(f"{partition} at {offset}")
    for value, where in written_at.items():
        writer = seen.writers.get(value)
        if len(where) > 1 and (writer is None or writer.idempotent):
            yield Anomaly("duplicate", f"{value} lies at {' and '.join(where)}")


def aborted_reads(seen: Observed) -> Iterator[Anomaly]:
    """A value was read though its writer knows that it was not written (G1a)."""
    for value, writer in seen.writers.items():
        if writer.outcome is not Completion.FAIL:
            continue
        # What a transaction took back is there for all to see who do not ask for committed data only.
        if seen.is_read_committed(value) if writer.kind == TXN else seen.is_read(value):
            yield Anomaly("aborted read", f"{value} of {writer.process} was read, but its writer failed")


def lost_writes(seen: Observed) -> Iterator[Anomaly]:
    """Every consumer read past a value that was written for good, and none returned it."""
    for value, sent in seen.sent.items():
        if seen.is_read(value) or not seen.is_below_highest_read(sent):
            continue
        writer = seen.writers[value]
        # That an open transaction was seen says nothing: only readers of committed data tell how it ended.
        was_seen = seen.is_read_committed if writer.kind == TXN else seen.is_read
        by_others = writer.outcome is Completion.INFO and any(was_seen(other.value) for other in writer.sent)
        if seen.is_promised(value) or by_others:
            yield Anomaly(
                "lost write",
                f"{value} of {writer.process} was written to {sent.partition} at {sent.offset}; "
                f"reads went up to {seen.highest_read[sent.partition]} and no consumer returned it",
            )


def unseen_writes(seen: Observed) -> Iterator[Anomaly]:
    """The last polls, which began after its acknowledgement, came to the end without it."""
    began = max((operation.started for operation in seen.history if operation.kind == FINAL), default=None)
    if began is None:
        return
    for value, sent in seen.sent.items():
        if seen.writers[value].ended > began:
            continue
        if seen.is_promised(value) and not seen.is_read(value) and not seen.is_below_highest_read(sent):
            yield Anomaly("unseen", f"{value} was written to {sent.partition} at {sent.offset}, and not read")
