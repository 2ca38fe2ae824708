"""Dead letters are read, filtered and made into records again; claims are written and read."""

import json
import random

import pytest

from tidelog.blocking.cluster import Topic
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.partition_choice import TopicChoice
from tidelog.cli.queue.dead_letters.claims import (
    HEADER,
    Claim,
    Ending,
    Step,
    claim_record,
    ending_record,
    read_step,
)
from tidelog.cli.queue.dead_letters.copies import LETTERS_MAX, Batches, build_copies, copy_of
from tidelog.cli.queue.dead_letters.filters import LetterFilter
from tidelog.cli.queue.dead_letters.letter import REDRIVEN, Letter, read_letter
from tidelog.cli.queue.dead_letters.targets import PutBackTo, Targets
from tidelog.clients.records import TopicPartition
from tidelog.shares.dead_letters.letters import FailedRecord, Origin, Reason, write_letters
from tidelog.wire.batch import read_header
from tidelog.wire.record import read_records
from tidelog.wire.record_body import Record

PLACE = TopicPartition("dlq.workers", 0)
WRITER = ProducerIdentity(7, 0)


def letter(number: int = 0, *, value: bytes = b"v", copied: bool = True, **changes: object) -> Letter:
    record = Record(number, 1, b"k%d" % number, value, [("own", b"1")])
    [made] = write_letters(
        Origin("jobs", 3, "workers"),
        [FailedRecord(number, 5, Reason.REJECTED)],
        {number: record} if copied else None,
        1_000,
    )
    found = read_letter(PLACE, made._replace(offset=number, **changes))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_letter_as_the_broker_writes_it() -> None:
    found = letter(4)
    assert (found.topic, found.partition, found.source_offset, found.group) == ("jobs", 3, 4, "workers")
    assert (found.key, found.value, found.headers) == (b"k4", b"v", [("own", b"1")])
    assert (found.delivery_count, found.message, found.timestamp) == (5, Reason.REJECTED, 1_000)
    assert (found.source, found.has_record) == ("jobs[3]@4", True)
    assert json.loads(json.dumps(found.as_json()))["reason"] == Reason.REJECTED


def test_a_letter_without_its_record() -> None:
    assert not letter(copied=False).has_record


def test_other_records_are_no_letters() -> None:
    assert read_letter(PLACE, Record(0, 0, None, b"x")) is None


@pytest.mark.parametrize("text", [b"", b"-1", b"x", "٣".encode(), b"9" * 40, None])
def test_headers_that_any_producer_may_have_written(text: bytes | None) -> None:
    headers = [
        ("__dlq.errors.topic", b"jobs"),
        ("__dlq.errors.group", b"g"),
        ("__dlq.errors.partition", text),
    ]
    found = read_letter(PLACE, Record(0, 0, None, None, headers))
    assert found is not None
    assert found.partition is None


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (LetterFilter(), True),
        (LetterFilter(group="workers"), True),
        (LetterFilter(group="others"), False),
        (LetterFilter(sources=(TopicChoice("jobs"),)), True),
        (LetterFilter(sources=(TopicChoice("mails"), TopicChoice("jobs", (3,)))), True),
        (LetterFilter(sources=(TopicChoice("jobs", (0, 1)),)), False),
        (LetterFilter(reason="rejected"), True),
        (LetterFilter(reason="REJECTED BY"), True),
        (LetterFilter(reason="too-often"), False),
        (LetterFilter(before_ms=1_000), False),
        (LetterFilter(before_ms=1_001), True),
        (LetterFilter(since_ms=1_000), True),
        (LetterFilter(since_ms=1_001), False),
        (LetterFilter(key=b"k0"), True),
        (LetterFilter(key=b""), False),
        (LetterFilter(group="workers", key=b"k1"), False),
    ],
)
def test_filters(wanted: LetterFilter, expected: bool) -> None:
    assert wanted.takes(letter()) is expected


def test_a_copy_is_the_record_and_a_count() -> None:
    once = copy_of(letter(), 0, 5_000)
    assert once == Record(0, 5_000, b"k0", b"v", [("own", b"1"), (REDRIVEN, b"1")])
    again = read_letter(PLACE, once._replace(headers=[*once.headers, *_context()]))
    assert again is not None
    assert copy_of(again, 0, 0).headers == [("own", b"1"), (REDRIVEN, b"2")]


def _context() -> list[tuple[str, bytes | None]]:
    return [("__dlq.errors.topic", b"jobs"), ("__dlq.errors.group", b"g")]


def test_a_batch_begins_at_sequence_0_and_is_compressed_where_it_must_be() -> None:
    letters = [letter(number, value=bytes(1000)) for number in range(3)]
    plain = build_copies(letters, WRITER, 1, 1 << 20)
    assert (read_header(plain).codec, read_header(plain).base_sequence) == (0, 0)
    assert (read_header(plain).producer_id, read_header(plain).producer_epoch) == WRITER
    small = build_copies(letters, WRITER, 1, 1000)
    assert len(small) < 1000
    assert [record.key for record in read_records(small)] == [b"k0", b"k1", b"k2"]


def test_batches_hold_what_their_topic_takes() -> None:
    batches, target, other = Batches(), TopicPartition("jobs", 3), TopicPartition("jobs", 4)
    full = []
    for number in range(7):
        full += batches.add(letter(number, value=bytes(1000)), target, 3500)
    full += batches.add(letter(7), other, 3500)
    full += batches.rest()
    sizes = [(place.partition, [each.offset for each in those]) for place, those in full]
    assert sizes == [(3, [0, 1, 2]), (3, [3, 4, 5]), (3, [6]), (4, [7])]
    assert batches.rest() == []
    assert batches.add(letter(8, value=bytes(9000)), target, 3500) == [], "alone, it waits for its turn"


def test_a_batch_has_so_many_letters_at_most() -> None:
    batches, target = Batches(), TopicPartition("jobs", 3)
    full = [
        those
        for number in range(2 * LETTERS_MAX)
        for _, those in batches.add(letter(number), target, 1 << 30)
    ]
    assert [len(those) for those in full] == [LETTERS_MAX, LETTERS_MAX]


TOPICS = {
    "jobs": Topic("jobs", bytes(16), dict.fromkeys(range(4), 1)),
    "small": Topic("small", leaders={0: 1, 1: 1}),
    "__consumer_offsets": Topic("__consumer_offsets", leaders={0: 1}, is_internal=True),
}


@pytest.mark.parametrize(
    ("to", "found", "expected"),
    [
        (None, letter(), PutBackTo(TopicPartition("jobs", 3), 999)),
        ("small", letter(), PutBackTo(TopicPartition("small", 1), 999)),
        ("nowhere", letter(), "the topic nowhere does not exist"),
        ("dlq.workers", letter(), "dlq.workers is the dead-letter topic itself"),
        (
            "__consumer_offsets",
            letter(),
            "__consumer_offsets is an internal topic, to which brokers alone write",
        ),
        (None, letter(value=bytes(5000)), PutBackTo(TopicPartition("jobs", 3), 999)),  # compressed
        (
            None,
            letter(value=random.Random(7).randbytes(5000)),
            "it is larger than jobs takes; its max.message.bytes is 999",
        ),
        (
            None,
            letter(copied=False),
            "it has no copy of its record, only the headers that say where the record was",
        ),
    ],
)
def test_targets(to: str | None, found: Letter, expected: PutBackTo | str) -> None:
    targets = Targets(TOPICS.get, lambda _: 999, dead_letter_topic="dlq.workers", to=to)
    assert targets.of(found) == expected


def test_a_partition_that_is_gone() -> None:
    shrunk = {"jobs": Topic("jobs", leaders={0: 1})}
    targets = Targets(shrunk.get, lambda _: 99, dead_letter_topic="d")
    assert targets.of(letter()) == "the topic jobs does not have the partition that it comes from"


CLAIM = Claim(((2, 5), (9, 9)), bytes(16), TopicPartition("jobs", 3), bytes(range(16)), WRITER, 1_000)


def test_steps_are_read_as_they_were_written() -> None:
    assert read_step(claim_record(CLAIM)._replace(offset=10)) == CLAIM
    assert CLAIM.count == 5
    ending = Ending(Step.RELEASED, WRITER)
    assert read_step(ending_record(ending, 5)) == ending


def changed(**changes: object) -> Record:
    record = claim_record(CLAIM)._replace(offset=10)
    value = json.loads(record.value or b"") | changes
    return record._replace(value=json.dumps(value).encode())


@pytest.mark.parametrize(
    "record",
    [
        changed(letters=[]),
        changed(letters=[[5, 2]]),
        changed(letters=[[2, 5], [5, 6]]),
        changed(letters=[[2, 10]]),
        changed(letters=[[0, "x"]]),
        changed(letters=7),
        changed(topic_id="?"),
        changed(to=None),
        changed(producer_id=None),
        claim_record(CLAIM)._replace(value=b"\xff"),
        claim_record(CLAIM)._replace(value=None),
        claim_record(CLAIM)._replace(headers=[(HEADER, b"other")]),
        claim_record(CLAIM)._replace(headers=[(HEADER, b"\xff")]),
        claim_record(CLAIM)._replace(headers=[(HEADER, None)]),
        Record(0, 0, None, None),
    ],
)
def test_damaged_steps_mean_nothing(record: Record) -> None:
    assert read_step(record) is None
