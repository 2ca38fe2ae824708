"""Rows that numpy wrote as batches are read back by the plain reader, and admitted as a client's batches."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.spark.records.batch_encoding import BatchIdentity, Columns, Encoded, encode
from tidelog.spark.records.header_columns import HEADERS
from tidelog.wire.batch import check_batches, read_header
from tidelog.wire.compression import Codec
from tidelog.wire.record import Record, walk_records

LIMITS = st.sampled_from([100, 300, 5000, 1_000_000])


def some_rows(rng: Random, count: int, header_odds: float, null_odds: float) -> list[Record]:
    def maybe_bytes() -> bytes | None:
        return None if rng.random() < null_odds else rng.randbytes(rng.choice((0, 1, 9, 63, 64, 70, 200)))

    return [
        Record(
            0,
            rng.choice((0, 7, 1 << 20, 1 << 41)),
            maybe_bytes(),
            maybe_bytes(),
            [("\u20ac" * rng.randint(0, 40), maybe_bytes()) for _ in range(rng.choice((1, 2, 70)))]
            if rng.random() < header_odds
            else [],
        )
        for _ in range(count)
    ]


def columns_of(rows: list[Record], has_headers: bool) -> Columns:
    headers = [
        [{"key": key, "value": value} for key, value in row.headers] if row.headers or index % 2 else None
        for index, row in enumerate(rows)
    ]
    return Columns(
        pa.array([row.key for row in rows], pa.binary()),
        pa.array([row.value for row in rows], pa.binary()),
        pa.array(headers, HEADERS) if has_headers else None,
    )


def read_back(batches: list[Encoded]) -> list[Record]:
    found = []
    for encoded in batches:
        check_batches(encoded.batch)
        records = walk_records(encoded.batch)
        assert len(records) == encoded.records
        found += [record._replace(offset=0) for record in records]
    return found


@settings(max_examples=150)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 300),
    header_odds=st.sampled_from([None, 0, 0.1, 1]),
    null_odds=st.sampled_from([0, 0.2, 1]),
    codec=st.sampled_from(Codec),
    limit=LIMITS,
    cut=st.integers(0, 20),
)
def test_what_was_encoded_is_read_back(*, seed, count, header_odds, null_odds, codec, limit, cut) -> None:
    rows = some_rows(Random(seed), count, header_odds or 0, null_odds)
    columns = columns_of(rows, header_odds is not None)
    first = min(cut, count - 1)  # arrays that begin within their buffers
    columns = Columns(*(None if column is None else column[first:] for column in columns))
    times = np.array([row.timestamp for row in rows[first:]])
    batches = list(encode(columns, times, codec=codec, batch_bytes_max=limit))
    assert read_back(batches) == rows[first:]
    for encoded in batches:
        assert encoded.records == 1 or codec or len(encoded.batch) <= limit


def test_sequences_go_on_from_batch_to_batch_and_begin_again() -> None:
    columns = Columns(None, pa.array([b"x" * 100] * 50))
    identity = BatchIdentity(7, 3, 2**31 - 20, is_transactional=True)
    batches = list(encode(columns, 5, identity=identity, batch_bytes_max=1000))
    due = 2**31 - 20
    for encoded in batches:
        header = read_header(encoded.batch)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, due)
        assert header.is_transactional
        due = (due + header.record_count) % 2**31
    assert sum(encoded.records for encoded in batches) == 50


def test_text_is_written_as_utf8() -> None:
    [encoded] = encode(Columns(pa.array(["k", None]), pa.array(["\u20ac", ""])), 0)
    assert [(record.key, record.value) for record in walk_records(encoded.batch)] == [
        (b"k", "\u20ac".encode()),
        (None, b""),
    ]


def test_no_rows_are_no_batches() -> None:
    assert list(encode(Columns(None, pa.array([], pa.binary())), 0)) == []


def test_a_header_without_a_key_is_refused() -> None:
    headers = pa.array([[{"key": None, "value": b"x"}]], HEADERS)
    with pytest.raises(ValueError, match="without a key"):
        list(encode(Columns(None, pa.array([b"x"]), headers), 0))
