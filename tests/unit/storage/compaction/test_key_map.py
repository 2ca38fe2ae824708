import tracemalloc

from tidelog.storage.compaction.key_map import ENTRY_BYTES, KeyMap


def test_the_newest_offset_of_each_key_counts():
    keys = KeyMap(1 << 20)
    assert keys.put_all([(b"a", 1), (b"b", 2), (b"a", 3)])
    assert (keys.newest(b"a"), keys.newest(b"b"), keys.newest(b"c")) == (3, 2, -1)
    assert len(keys) == 2


def test_long_keys_are_distinguished():
    keys = KeyMap(1 << 20)
    long_keys = [bytes([n]) + b"x" * 1000 for n in range(50)]
    keys.put_all([(key, n) for n, key in enumerate(long_keys)])
    assert [keys.newest(key) for key in long_keys] == list(range(50))
    stored = list(keys._newest)
    assert all(keys.newest(digest) == -1 for digest in stored)  # no key passes for the digest of another


def test_it_is_full_at_its_limit_but_takes_keys_it_knows():
    keys = KeyMap(3 * ENTRY_BYTES)
    assert not keys.put_all([(b"%d" % n, n) for n in range(4)])
    assert len(keys) == 3
    assert keys.put_all([(b"0", 9)])
    assert keys.newest(b"0") == 9


def test_it_keeps_to_its_memory():
    for length in (8, 40, 60):
        count = 20_000
        tracemalloc.start()
        keys = KeyMap(count * ENTRY_BYTES)
        keys.put_all(((b"%d" % n).rjust(length, b"k"), 2**40 + n) for n in range(count))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(keys) == count
        assert peak < count * ENTRY_BYTES
