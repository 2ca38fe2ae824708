"""Rows meet in the partitions that Java's client would choose."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.spark.sink.partitioning import NoSuchPartition, by_column, by_key, murmur2


def one_by_one(key: bytes) -> int:
    """Murmur2 as its author wrote it down."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    for at in range(0, len(key) - 3, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    tail = key[len(key) - len(key) % 4 :]
    if tail:
        h = (h ^ int.from_bytes(tail, "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return h ^ (h >> 15)


@pytest.mark.parametrize(
    ("key", "as_java_says"),
    [  # from UtilsTest of Apache Kafka
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_those_of_java(key: bytes, as_java_says: int) -> None:
    assert murmur2(pa.array([key], pa.binary())).astype(np.int32).tolist() == [as_java_says]
    assert one_by_one(key) == as_java_says & 0xFFFFFFFF


@settings(max_examples=60)
@given(st.lists(st.none() | st.binary(max_size=19)), st.integers(0, 3), st.booleans())
def test_many_are_hashed_as_one(keys: list[bytes | None], skipped: int, large: bool) -> None:
    array = pa.array(keys, pa.large_binary() if large else pa.binary())[skipped:]
    found = murmur2(array).tolist()
    for key, found_hash in zip(keys[skipped:], found, strict=True):
        assert key is None or found_hash == one_by_one(key)


def test_rows_without_a_key_stay_together() -> None:
    keys = pa.array([b"abc", None, b"21", None], pa.binary())
    expected = [one_by_one(b"abc") % 2**31 % 7, 5, one_by_one(b"21") % 2**31 % 7, 5]
    assert by_key(keys, 7, 5).tolist() == expected
    assert by_key(pa.nulls(3, pa.binary()), 7, 4).tolist() == [4, 4, 4]


def test_a_row_may_name_its_partition() -> None:
    named = pa.array([2, None, 0], pa.int32())
    assert by_column(named, np.array([1, 1, 1], np.int32), "t", 3).tolist() == [2, 1, 0]
    with pytest.raises(NoSuchPartition, match="partition 2 of topic t, which has 0 to 1"):
        by_column(named, np.array([1, 1, 1], np.int32), "t", 2)
    with pytest.raises(NoSuchPartition, match="partition -1"):
        by_column(pa.array([-1], pa.int32()), np.array([0], np.int32), "t", 2)
