import pytest

from tidelog.coordination.placement import partition_of_key


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
