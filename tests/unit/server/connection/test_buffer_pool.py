import pytest

from tidelog.server.connection.buffer_pool import BUFFER_BYTES_MAX, BufferPool, round_up

MIB = 1024 * 1024


@pytest.mark.parametrize("size", [65_536, 65_537, 100_000, MIB, MIB + 120, 3 * MIB, 100 * MIB])
def test_rounding_wastes_at_most_a_quarter(size: int) -> None:
    assert size <= round_up(size) <= size * 5 // 4
    assert round_up(round_up(size)) == round_up(size)


def test_a_buffer_is_used_again() -> None:
    pool = BufferPool(10 * MIB)
    buffer = pool.take(MIB + 120)
    pool.give(buffer)
    assert pool.take(MIB + 500) is buffer
    assert pool.kept_bytes == 0


def test_a_buffer_that_somebody_looks_at_is_not() -> None:
    pool = BufferPool(10 * MIB)
    buffer = pool.take(MIB)
    view = memoryview(buffer)[10:20]
    pool.give(buffer)
    assert pool.take(MIB) is not buffer
    view[:] = b"0123456789"


def test_what_is_kept_is_bounded() -> None:
    pool = BufferPool(2 * MIB)
    for buffer in [pool.take(MIB) for _ in range(5)]:
        pool.give(buffer)
    assert pool.kept_bytes == 2 * MIB
    pool = BufferPool(100 * MIB)
    pool.give(pool.take(BUFFER_BYTES_MAX + 1))
    assert pool.kept_bytes == 0


def test_an_idle_pool_lets_go() -> None:
    pool = BufferPool(10 * MIB)
    pool.give(pool.take(MIB))
    pool.tick()
    assert pool.kept_bytes == MIB
    pool.tick()
    assert pool.kept_bytes == 0
