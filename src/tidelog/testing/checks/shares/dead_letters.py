"""Checks of dead letters: one for each undeliverable record, with its value, its source and the reason."""

from collections.abc import Iterator

from tidelog.shares.states import AckType
from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.shares.seen import RecordKey, SharesSeen
from tidelog.testing.history import Partition
from tidelog.testing.share_history import Stored

PREFIX = "__dlq.errors."
REJECTED = "Offset rejected by client."
EXHAUSTED = "Offset delivery count exceeded the threshold."


def dead_letters(seen: SharesSeen) -> Iterator[Anomaly]:
    letters: dict[RecordKey, list[Stored]] = {}
    for stored in seen.stored:
        key = _source_of(stored)
        if key is None:
            yield Anomaly(
                "dead letter", f"{stored.partition} at {stored.offset} lacks headers: {stored.headers}"
            )
        else:
            letters.setdefault(key, []).append(stored)
    for key, several in letters.items():
        if len(several) > 1:
            places = ", ".join(f"{one.partition} at {one.offset}" for one in several)
            yield Anomaly("dead letter", f"{key} lies {len(several)} times: {places}")
        for letter in several:
            yield from _content(seen, key, letter)
        yield from _reason(seen, key, several[0])
    yield from _missing(seen, letters)


def _source_of(stored: Stored) -> RecordKey | None:
    headers = dict(stored.headers)
    topic, index, offset, group = (
        headers.get(PREFIX + name, "") for name in ("topic", "partition", "offset", "group")
    )
    if not topic or not index.isdecimal() or not offset.isdecimal() or not group:
        return None
    return RecordKey(group, f"{topic}-{index}", int(offset))


def _content(seen: SharesSeen, key: RecordKey, letter: Stored) -> Iterator[Anomaly]:
    expected = seen.values.get((key.partition, key.offset))
    if expected not in (None, letter.value):
        yield Anomaly("dead letter", f"{key} is {expected!r}, and its dead letter is {letter.value!r}")
    plan = seen.plans[key.group]
    index = _index(key.partition) % max(1, plan.dead_letter_partitions)
    if letter.partition != f"{plan.dead_letter_topic}-{index}":
        yield Anomaly("dead letter", f"{key} lies in {letter.partition}")
    headers = dict(letter.headers)
    count, message = headers.get(f"{PREFIX}delivery.count", ""), headers.get(f"{PREFIX}message", "")
    if message not in (REJECTED, EXHAUSTED):
        yield Anomaly("dead letter", f"{key} has the message {message!r}")
    if not count.isdecimal() or not 1 <= int(count) <= plan.delivery_limit:
        yield Anomaly("dead letter", f"{key} has the delivery count {count!r}")
    elif message == EXHAUSTED and int(count) != plan.delivery_limit:
        yield Anomaly("dead letter", f"{key} has the delivery count {count} and the message {message!r}")


def _reason(seen: SharesSeen, key: RecordKey, letter: Stored) -> Iterator[Anomaly]:
    finals = list(seen.final_acks(key))
    certain = [one for one in finals if one.is_ok and seen.has_lock(key, one)]
    if accepted := [one for one in certain if one.ack.type == AckType.ACCEPT]:
        yield Anomaly("dead letter", f"{key} has a dead letter after {accepted[0]}")
    is_rejected = any(one.ack.type == AckType.REJECT for one in finals)
    if not is_rejected and not seen.may_be_exhausted(key, 0.0):
        yield Anomaly(
            "dead letter", f"{key} has a dead letter and was neither rejected nor delivered too often"
        )
    # The other way round nothing can be said: another leader knows the count alone, and calls a record that
    # was rejected at its last delivery one that was delivered too often.
    if not is_rejected and dict(letter.headers).get(f"{PREFIX}message") == REJECTED:
        yield Anomaly("dead letter", f"{key} was not rejected, and its dead letter says so")


def _missing(seen: SharesSeen, letters: dict[RecordKey, list[Stored]]) -> Iterator[Anomaly]:
    ended = {(end.group, end.partition) for end in seen.ends}
    groups = [plan.group for plan in seen.plans.values() if plan.dead_letter_topic]
    for partition, offset, _ in seen.promised():
        for group in groups:
            key = RecordKey(group, partition, offset)
            if key in letters or (group, partition) not in ended:
                continue
            finals = list(seen.final_acks(key))
            may_be_accepted = any(one.ack.type == AckType.ACCEPT for one in finals)
            if not may_be_accepted and (finals or seen.deliveries.get(key)):
                yield Anomaly("dead letter", f"{key} has none, and no member accepted the record")


def _index(partition: Partition) -> int:
    return int(partition.rpartition("-")[2])
