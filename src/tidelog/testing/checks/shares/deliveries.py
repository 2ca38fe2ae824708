"""Checks of what members are given: no finished record, no value of another record, counts that go up."""

from collections.abc import Iterator
from itertools import combinations

from tidelog.shares.states import AckType
from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.observed import TXN
from tidelog.testing.checks.shares.seen import (
    FINAL_TYPES,
    Delivery,
    RecordedAck,
    RecordKey,
    SharesSeen,
    is_of_older_leader,
)
from tidelog.testing.history import Completion
from tidelog.testing.share_history import UNKNOWN_EPOCH


def delivered_again(seen: SharesSeen) -> Iterator[Anomaly]:
    """A record comes although its ACCEPT or REJECT was answered with success."""
    for key, acks in seen.acks.items():
        finished = [one for one in acks if one.is_ok and one.ack.type in FINAL_TYPES]
        for done in finished:
            for delivery in seen.deliveries.get(key, ()):
                if delivery.take.started > done.request.ended and not is_of_older_leader(delivery, done):
                    yield Anomaly("delivered again", f"{key}: {done} came before {delivery}")


def wrong_values(seen: SharesSeen) -> Iterator[Anomaly]:
    """A delivered record is not the record at its offset, or was never sent, or was taken back."""
    for key, deliveries in seen.deliveries.items():
        expected = seen.values.get((key.partition, key.offset))
        for delivery in deliveries:
            value = delivery.taken.value
            sent = seen.sent(value)
            if sent is None:
                yield Anomaly("wrong value", f"{key}: {value!r}, which no producer sent, went to {delivery}")
            elif expected not in (None, value):
                yield Anomaly("wrong value", f"{key} is {expected!r}, and {value!r} went to {delivery}")
            elif _is_taken_back(seen, key, sent[0].outcome, sent[0].kind):
                yield Anomaly("aborted delivery", f"{key}: {value!r} was taken back and went to {delivery}")


def _is_taken_back(seen: SharesSeen, key: RecordKey, outcome: Completion, kind: str) -> bool:
    return kind == TXN and outcome is Completion.FAIL and seen.plans[key.group].committed_only


def counts(seen: SharesSeen) -> Iterator[Anomaly]:
    """Each delivery of one leader counts one more; a count that an answered release saved never goes back."""
    for key, deliveries in seen.deliveries.items():
        limit = seen.plans[key.group].delivery_limit
        for delivery in deliveries:
            if not 1 <= delivery.taken.count <= limit:
                yield Anomaly("delivery count", f"{key}: the limit is {limit}, and {delivery} was made")
        for first, second in combinations(sorted(deliveries, key=lambda one: one.take.ended), 2):
            yield from _pair(key, first, second)
        for recorded in seen.acks.get(key, ()):
            if recorded.is_ok and recorded.ack.type == AckType.RELEASE:
                yield from _saved_count(key, recorded, deliveries)


def _pair(key: RecordKey, first: Delivery, second: Delivery) -> Iterator[Anomaly]:
    life = first.take.broker, first.taken.epoch
    if first.taken.epoch == UNKNOWN_EPOCH or life != (second.take.broker, second.taken.epoch):
        return
    if first.taken.count == second.taken.count:
        yield Anomaly("delivery count", f"{key}: {first} and {second} have the same")
    elif first.taken.count > second.taken.count and first.take.ended <= second.take.started:
        yield Anomaly("delivery count", f"{key}: {first} came before {second}")


def _saved_count(key: RecordKey, released: RecordedAck, deliveries: list[Delivery]) -> Iterator[Anomaly]:
    for delivery in deliveries:
        is_later = delivery.take.started > released.request.ended
        goes_back = delivery.taken.count <= released.ack.count
        if is_later and goes_back and not is_of_older_leader(delivery, released):
            yield Anomaly("delivery count", f"{key}: {released} was saved before {delivery}")
