"""A core that hangs, by its beats."""

from tidelog.cli.cores.stall import MISSED_MAX, Stall


def test_a_core_that_beats_does_not_hang() -> None:
    stall = Stall()
    assert not any(stall.look(beats) for beats in range(1, 3 * MISSED_MAX))


def test_a_core_hangs_after_so_many_looks_without_a_beat() -> None:
    stall = Stall()
    assert not stall.look(7)
    assert [stall.look(7) for _ in range(MISSED_MAX)] == [False] * (MISSED_MAX - 1) + [True]


def test_a_beat_begins_the_count_anew() -> None:
    stall = Stall()
    stall.look(1)
    assert not any(stall.look(1) for _ in range(MISSED_MAX - 1))
    assert not stall.look(2)
    assert not any(stall.look(2) for _ in range(MISSED_MAX - 1))
