from tidelog.shares.dead_letters.letters import (
    NO_RECORD,
    TOO_LARGE,
    FailedRecord,
    Origin,
    Reason,
    own_headers,
    without_record,
    write_letters,
)
from tidelog.wire.record_body import Record

ORIGIN = Origin("orders", 3, "workers")
REJECTED = FailedRecord(41, 2, Reason.REJECTED)
CONTEXT = [
    ("__dlq.errors.topic", b"orders"),
    ("__dlq.errors.partition", b"3"),
    ("__dlq.errors.offset", b"41"),
    ("__dlq.errors.group", b"workers"),
    ("__dlq.errors.delivery.count", b"2"),
    ("__dlq.errors.message", b"Offset rejected by client."),
]


def test_a_dead_letter_has_its_record_and_where_it_was_and_why():
    record = Record(41, 5, b"key", b"value", [("trace", b"7"), ("trace", None)])
    [letter] = write_letters(ORIGIN, [REJECTED], {41: record}, now_ms=900)
    assert letter == Record(0, 900, b"key", b"value", [("trace", b"7"), ("trace", None), *CONTEXT])


def test_without_copies_only_the_context_is_written():
    [letter] = write_letters(ORIGIN, [REJECTED], None, now_ms=900)
    assert letter == Record(0, 900, None, None, CONTEXT)


def test_a_record_that_retention_took_leaves_its_context():
    [letter] = write_letters(ORIGIN, [FailedRecord(41, 5, Reason.TOO_OFTEN)], {}, now_ms=900)
    assert (letter.key, letter.value) == (None, None)
    message = f"Offset delivery count exceeded the threshold. {NO_RECORD}".encode()
    assert dict(letter.headers)["__dlq.errors.message"] == message


def test_context_of_an_earlier_time_is_replaced():
    """Whether the record was a dead letter before, or its producer made them up."""
    record = Record(41, 5, None, b"v", [("__dlq.errors.topic", b"forged"), ("mine", b"x")])
    [letter] = write_letters(ORIGIN, [REJECTED], {41: record}, now_ms=900)
    assert letter.headers == [("mine", b"x"), *CONTEXT]
    assert own_headers(letter.headers) == [("mine", b"x")]


def test_dead_letters_are_numbered_from_0_whatever_the_offsets():
    failed = [FailedRecord(offset, 1, Reason.REJECTED) for offset in (4, 9, 10)]
    letters = write_letters(ORIGIN, failed, None, now_ms=1)
    assert [letter.offset for letter in letters] == [0, 1, 2]
    assert [dict(letter.headers)["__dlq.errors.offset"] for letter in letters] == [b"4", b"9", b"10"]


def test_a_letter_without_its_record_says_so():
    record = Record(41, 5, b"key", b"value", [("trace", b"7")])
    [letter] = write_letters(ORIGIN, [REJECTED], {41: record}, now_ms=900)
    bare = without_record(letter)
    assert bare.headers[:-1] == CONTEXT[:-1]
    assert bare.headers[-1] == ("__dlq.errors.message", f"Offset rejected by client. {TOO_LARGE}".encode())
