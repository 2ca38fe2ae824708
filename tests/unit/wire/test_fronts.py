"""The first bytes of keys and values: what whole records begin with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.base.errors import KafkaError
from tidelog.wire.batch import HEADER
from tidelog.wire.compression import Codec
from tidelog.wire.fronts import FRONT_BYTES, read_fronts
from tidelog.wire.record import Record, read_records, write_batch

DATA = st.none() | st.binary(max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=200)), max_size=3)
RECORDS = st.lists(st.tuples(st.integers(0, 2**62), DATA, DATA, HEADERS), max_size=20)


def batch_of(records, codec=Codec.NONE):
    made = [Record(number, *record) for number, record in enumerate(records)]
    return write_batch(made, codec=codec, last_offset_delta=max(0, len(made) - 1))


@given(RECORDS, st.sampled_from(list(Codec)))
def test_they_are_those_of_the_records(records, codec):
    batch = batch_of(records, codec)
    whole, fronts = read_records(batch), read_fronts(batch)
    assert fronts.keys == [one.key and one.key[:FRONT_BYTES] for one in whole]
    assert fronts.values == [one.value and one.value[:FRONT_BYTES] for one in whole]
    assert fronts.headers == {number: one.headers for number, one in enumerate(whole) if one.headers}


@given(RECORDS.filter(bool), st.data())
def test_damaged_records_are_an_error_or_records(records, data):
    """Any byte of them: no other exception, and no endless loop."""
    batch = batch_of(records)
    at = data.draw(st.integers(HEADER.size, len(batch) - 1))
    batch[at] = data.draw(st.integers(0, 255))
    try:
        fronts = read_fronts(batch)
    except KafkaError:
        return
    assert len(fronts.keys) == len(fronts.values) == len(records)


@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1])
def test_a_count_that_is_not_true(count):
    batch = batch_of([(0, b"k", b"v", [])])
    batch[HEADER.size - 4 : HEADER.size] = count.to_bytes(4, "big", signed=True)
    with pytest.raises(KafkaError):
        read_fronts(batch)


def test_lengths_below_null():
    batch = batch_of([(0, None, None, [])])
    at = bytes(batch).rindex(b"\x01\x01\x00")
    batch[at] = 3  # -2
    with pytest.raises(KafkaError, match="-2 bytes"):
        read_fronts(batch)
