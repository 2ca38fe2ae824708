"""Checks of ends: each group finishes every record, and nothing is deleted before that."""

from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.shares.seen import RecordKey, SharesSeen


def unfinished(seen: SharesSeen) -> Iterator[Anomaly]:
    """At the end of a run a group still has records that it has to deliver."""
    for end in seen.ends:
        if end.start_offset < end.end_offset:
            yield Anomaly(
                "unfinished",
                f"{end.group} is at {end.start_offset} of {end.partition}, which ends at {end.end_offset}",
            )


def lost_records(seen: SharesSeen) -> Iterator[Anomaly]:
    """A group passed by a record that no member finished, and that was not delivered often enough."""
    ends = {(end.group, end.partition): end.start_offset for end in seen.ends}
    for partition, offset, writer in seen.promised():
        for group in seen.plans:
            if offset >= ends.get((group, partition), 0):
                continue
            key = RecordKey(group, partition, offset)
            if seen.came_too_late(key, writer.started):
                continue
            if not any(seen.final_acks(key)) and not seen.may_be_exhausted(key, writer.started):
                yield Anomaly(
                    "lost record", f"{key} is done, {_deliveries(seen, key)}, and no member finished it"
                )


def deleted_too_early(seen: SharesSeen) -> Iterator[Anomaly]:
    """The log's start passed a record before a group had finished it."""
    last: dict[str, int] = {}
    promised = sorted(seen.promised(), key=lambda one: one[:2])
    for start in sorted(seen.log_starts, key=lambda one: one.at):
        before = last.get(start.partition, 0)
        last[start.partition] = max(before, start.offset)
        for partition, offset, writer in promised:
            if partition != start.partition or not before <= offset < start.offset:
                continue
            for group in seen.plans:
                key = RecordKey(group, partition, offset)
                if seen.came_too_late(key, writer.started):
                    continue
                acked = any(one.request.started <= start.at for one in seen.final_acks(key))
                if not acked and not seen.may_be_exhausted(key, writer.started, start.at):
                    yield Anomaly(
                        "deleted too early",
                        f"{key} was deleted at {start.at:.3f} s, unfinished: {_deliveries(seen, key)}",
                    )


def _deliveries(seen: SharesSeen, key: RecordKey) -> str:
    counts = [one.taken.count for one in seen.deliveries.get(key, ())]
    return f"deliveries {counts} of {seen.plans[key.group].delivery_limit}"
