"""Which range of which partition is read."""

import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.records.positions import Anchor, Position
from tidelog.cli.records.spans import Bounds, Span, check_start, plan, resolve

BOUNDS = Bounds(100, 200)


@pytest.mark.parametrize(
    ("position", "by_time", "offset"),
    [
        (Position(Anchor.BEGINNING), None, 100),
        (Position(Anchor.END), None, 200),
        (Position(Anchor.LAST, 10), None, 190),
        (Position(Anchor.LAST, 1000), None, 100),
        (Position(Anchor.OFFSET, 150), None, 150),
        (Position(Anchor.TIME, 1), 160, 160),
        (Position(Anchor.TIME, 1), None, 200),
    ],
)
def test_a_position_means_an_offset(position: Position, by_time: int | None, offset: int) -> None:
    assert resolve(position, BOUNDS, by_time) == offset


def test_the_end_is_a_fine_place_to_start() -> None:
    assert check_start(200, BOUNDS, "t", 0) == 200


@pytest.mark.parametrize(("start", "cause"), [(99, "retention"), (201, "not written yet")])
def test_an_offset_that_is_not_there_is_refused_with_the_range(start: int, cause: str) -> None:
    with pytest.raises(CliError, match="holds 100 up to, not including, 200") as caught:
        check_start(start, BOUNDS, "orders", 3)
    assert caught.value.code is Exit.REFUSED
    assert cause in (caught.value.cause or "")


class TwoPartitions:
    """Stands where the broker's answers are: partition 0 holds [0, 10), partition 1 is empty at 5."""

    topic = "orders"

    def edge(self, name: str, partitions: list[int]) -> dict[int, int]:
        return {"earliest": {0: 0, 1: 5}, "latest": {0: 10, 1: 5}}[name]

    def by_time(self, position: Position, partitions: list[int]) -> dict[int, int]:
        return {0: 4} if position.anchor is Anchor.TIME else {}


def planned(start: Position, until: Position | None = None, *, follow: bool = False) -> list[Span]:
    return plan(TwoPartitions(), [0, 1], start, until, follow=follow)  # type: ignore[arg-type]


def test_without_follow_empty_partitions_are_left_out() -> None:
    assert planned(Position(Anchor.BEGINNING)) == [Span(0, 0, 10)]


def test_follow_keeps_every_partition_open() -> None:
    assert planned(Position(Anchor.END), follow=True) == [Span(0, 10, None), Span(1, 5, None)]


def test_until_a_time_stops_before_it() -> None:
    assert planned(Position(Anchor.BEGINNING), Position(Anchor.TIME, 1)) == [Span(0, 0, 4)]


def test_until_an_offset_ahead_waits_only_when_following() -> None:
    ahead = Position(Anchor.OFFSET, 50)
    assert planned(Position(Anchor.BEGINNING), ahead) == [Span(0, 0, 10)]
    assert planned(Position(Anchor.BEGINNING), ahead, follow=True) == [Span(0, 0, 50), Span(1, 5, 50)]
