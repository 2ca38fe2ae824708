import os

import pytest

from tidelog.shares.dead_letters.batches import build_batch, count_that_fits
from tidelog.shares.dead_letters.letters import TOO_LARGE, FailedRecord, Origin, Reason, write_letters
from tidelog.wire.batch import check_batches, read_header
from tidelog.wire.record import walk_records
from tidelog.wire.record_body import Record

ORIGIN = Origin("orders", 3, "workers")


def letters_of(*values):
    failed = [FailedRecord(offset, 1, Reason.REJECTED) for offset in range(len(values))]
    records = {offset: Record(offset, 0, b"k", value) for offset, value in enumerate(values)}
    return write_letters(ORIGIN, failed, records, now_ms=100)


def batch_of(letters, bytes_max):
    return build_batch(letters, bytes_max, producer_id=77, producer_epoch=2, first_sequence=40)


def test_a_batch_has_the_sequences_it_was_begun_with():
    batch = batch_of(letters_of(b"a", b"b", b"c"), 10_000)
    [(_, header)] = check_batches(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 2, 40)
    assert header.last_sequence == 42
    assert [record.value for record in walk_records(batch)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_the_count_is_exact(count):
    letters = letters_of(*[os.urandom(90)] * 10)
    size = len(batch_of(letters[:count], 1_000_000))
    assert count_that_fits(letters, size) == count
    assert count_that_fits(letters, size - 1) == max(1, count - 1)


def test_a_record_that_is_too_large_goes_alone():
    assert count_that_fits(letters_of(b"x" * 9000, b"a"), 1000) == 1


def test_what_is_too_large_is_compressed_first():
    letters = letters_of(b"x" * 9000)
    batch = batch_of(letters, 1000)
    assert len(batch) <= 1000
    assert walk_records(batch) == letters


def test_what_does_not_fit_at_all_leaves_its_headers():
    letters = letters_of(b"small", os.urandom(9000), b"too")
    batch = batch_of(letters, 2000)
    assert len(batch) <= 2000
    first, bare, last = walk_records(batch)
    assert (first, last) == (letters[0], letters[2])
    assert (bare.key, bare.value) == (None, None)
    assert dict(bare.headers)["__dlq.errors.offset"] == b"1"
    assert dict(bare.headers)["__dlq.errors.message"].decode().endswith(TOO_LARGE)


def test_as_many_letters_whatever_the_limit():
    """The sequence numbers of a batch that is written again must stay."""
    letters = letters_of(*[os.urandom(500) for _ in range(20)])
    for bytes_max in (50_000, 5_000, 500, 1):
        assert read_header(batch_of(letters, bytes_max)).record_count == 20
