import pytest

from tidelog.groups.placement import offsets_partition


@pytest.mark.parametrize(
    ("group_id", "java_hash"),
    [
        ("", 0),
        ("hello", 99162322),
        ("my-group", -1906497762),
        ("😀", 0xD83D * 31 + 0xDE00),  # two units of UTF-16
    ],
)
def test_groups_lie_where_java_puts_them(group_id, java_hash):
    assert offsets_partition(group_id, 2**31 - 1) == abs(java_hash)
    assert offsets_partition(group_id, 50) == abs(java_hash) % 50


def test_a_hash_without_a_positive_twin_counts_as_zero():
    assert offsets_partition("polygenelubricants", 50) == 0
