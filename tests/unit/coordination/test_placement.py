import gc
import tracemalloc

import pytest

from tidelog.coordination.placement import CACHED_CHARS_MAX, partition_of_key


@pytest.mark.parametrize(
    ("key", "java_hash"),
    [
        ("", 0),
        ("abc", 96354),
        ("hello", 99162322),
        ("my-group", -1906497762),
        ("😀", 0xD83D * 31 + 0xDE00),  # two units of UTF-16
    ],
)
def test_keys_are_placed_by_javas_hash(key, java_hash):
    assert partition_of_key(key, 2**31 - 1) == abs(java_hash)
    assert partition_of_key(key, 50) == abs(java_hash) % 50


def test_a_hash_without_a_positive_twin_counts_as_zero():
    assert partition_of_key("polygenelubricants", 50) == 0


@pytest.mark.parametrize("length", [1, 7, CACHED_CHARS_MAX, CACHED_CHARS_MAX + 1, 32_767])
def test_keys_of_every_length_are_placed_alike(length):
    code = sum(ord("a") * 31**power for power in range(length)) % 2**32
    for _ in range(2):
        assert partition_of_key("a" * length, 2**31 - 1) == min(code, 2**32 - code) % (2**31 - 1)


def test_long_keys_are_not_kept():
    tracemalloc.start()
    try:
        for number in range(20):
            partition_of_key(f"{number}\U0001f600" + "a" * 2000, 50)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 20_000, "one of the keys has 8,000 bytes"
