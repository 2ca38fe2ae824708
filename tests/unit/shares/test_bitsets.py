"""Bit sets against Python's own sets, at the edges and at random."""

import random

import pytest

from tidelog.shares.bitsets import DeliveryCounts, lowest, ones_from, runs, smallest, span


def bits_of(numbers: set[int]) -> int:
    return sum(1 << number for number in numbers)


def set_of(bits: int) -> set[int]:
    return {at for at in range(bits.bit_length()) if bits >> at & 1}


def random_sets() -> list[set[int]]:
    rng = random.Random(5)
    return [
        {number for number in range(200) if rng.random() < density}
        for density in (0.01, 0.1, 0.5, 0.9, 0.99, 1.0)
        for _ in range(10)
    ]


def test_a_span_has_both_ends() -> None:
    assert set_of(span(3, 5)) == {3, 4, 5}
    assert set_of(span(0, 0)) == {0}


def test_runs_are_the_neighbours() -> None:
    assert runs(0) == []
    assert runs(0b1) == [(0, 0)]
    assert runs(0b1110110) == [(1, 2), (4, 6)]
    assert runs(bits_of(set(range(0, 100, 2)))) == [(at, at) for at in range(0, 100, 2)]


@pytest.mark.parametrize("numbers", random_sets())
def test_every_function_agrees_with_a_python_set(numbers: set[int]) -> None:
    bits = bits_of(numbers)
    covered = [number for first, last in runs(bits) for number in range(first, last + 1)]
    assert covered == sorted(numbers)
    for count in (0, 1, 7, 50, 500):
        assert set_of(smallest(bits, count)) == set(sorted(numbers)[:count])
    if numbers:
        assert lowest(bits) == min(numbers)
    for at in (0, 50, 199, 300):
        follow = 0
        while at + follow in numbers:
            follow += 1
        assert ones_from(bits, at) == follow


def test_counts_grow_and_split_like_a_dict() -> None:
    rng = random.Random(6)
    counts, model = DeliveryCounts(), dict.fromkeys(range(100), 0)
    for _ in range(300):
        numbers = {number for number in range(100) if rng.random() < 0.2}
        if rng.random() < 0.2:
            count = rng.randrange(100)
            counts.put(bits_of(numbers), count)
            model.update(dict.fromkeys(numbers, count))
        else:
            counts.add_one(bits_of(numbers))
            model.update({number: model[number] + 1 for number in numbers})
    everything = bits_of(set(model))
    assert {n: count for count, part in counts.groups(everything) for n in set_of(part)} == model
    assert [
        (n, count) for first, last, count in counts.runs(everything) for n in range(first, last + 1)
    ] == sorted(model.items())
    assert [counts.of(number) for number in range(100)] == list(model.values())


def test_a_run_ends_where_the_count_changes() -> None:
    counts = DeliveryCounts()
    counts.put(0b1100, 5)
    assert counts.runs(0b11110) == [(1, 1, 0), (2, 3, 5), (4, 4, 0)]
    assert counts.runs(0) == []
