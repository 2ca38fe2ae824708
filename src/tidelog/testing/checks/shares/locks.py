"""Checks of locks: one holder of a record under one leader, no acknowledgement by another member, and no more
locks than the group may have."""

from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.shares.seen import Hold, SharesSeen
from tidelog.testing.history import Partition

Place = tuple[str, Partition, tuple[str, int]]


def two_holders(seen: SharesSeen) -> Iterator[Anomaly]:
    """A record is delivered while the lock of an earlier delivery certainly lasts."""
    for key, deliveries in seen.deliveries.items():
        if len(deliveries) < 2:
            continue
        for hold in seen.holds(key):
            for delivery in deliveries:
                life = delivery.take.broker, delivery.taken.epoch
                if (
                    life == hold.life
                    and hold.start <= delivery.take.started
                    and delivery.take.ended <= hold.end
                ):
                    yield Anomaly("two holders", f"{key}: {_text(hold)}, and it went to {delivery}")


def foreign_acks(seen: SharesSeen) -> Iterator[Anomaly]:
    """A member's acknowledgement succeeds while another member certainly has the lock."""
    for key, acks in seen.acks.items():
        holds = seen.holds(key) if any(one.is_ok for one in acks) else []
        for recorded in acks:
            if not recorded.is_ok:
                continue
            request = recorded.request
            for hold in holds:
                is_within = hold.start <= request.started and request.ended <= hold.end
                is_of_leader = hold.life == (request.broker, recorded.ack.epoch)
                if hold.member != request.member and is_within and is_of_leader:
                    yield Anomaly(
                        "foreign acknowledgement", f"{key}: {_text(hold)}, and {recorded} succeeded"
                    )


def too_many_locks(seen: SharesSeen) -> Iterator[Anomaly]:
    """More records of a partition are certainly locked at a time than the group may lock."""
    changes: dict[Place, list[tuple[float, int]]] = {}
    for key in seen.deliveries:
        for start, end, life in _merged(seen.holds(key)):
            change = changes.setdefault((key.group, key.partition, life), [])
            change += [(start, 1), (end, -1)]
    for (group, partition, life), change in changes.items():
        limit, held = seen.plans[group].locks_max, 0
        for at, step in sorted(change):
            held += step
            if held > limit:
                yield Anomaly(
                    "too many locks",
                    f"{group} holds {held} of {limit} records of {partition} at {at:.3f} s under {life}",
                )
                break


def _merged(holds: list[Hold]) -> list[tuple[float, float, tuple[str, int]]]:
    """A record counts once, however many members seem to hold it."""
    merged: list[tuple[float, float, tuple[str, int]]] = []
    for hold in sorted(holds, key=lambda one: (one.life, one.start)):
        if merged and merged[-1][2] == hold.life and hold.start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], hold.end), hold.life
        else:
            merged.append((hold.start, hold.end, hold.life))
    return merged


def _text(hold: Hold) -> str:
    return f"{hold.member} holds it from {hold.start:.3f} to {hold.end:.3f} s"
