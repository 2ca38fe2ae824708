"""Large work is cut into turns: others are served in between, and what comes of it is the same."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.config.config import BrokerConfig
from tidelog.broker.turns import (
    CHARS_PER_PIECE,
    NAMES_PER_PIECE,
    PIECE,
    advance_in_turns,
    decide_in_turns,
    fits_in_a_turn,
    in_turns,
    names_in_turns,
)
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerRegistered
from tidelog.metadata.topics.create_topics import (
    PARTITIONS_PER_STEP,
    NewTopic,
    TopicDefaults,
    create_topics_in_steps,
    decide_create_topics,
)

IDS = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]


def rests(work: Callable[[], Awaitable[object]]) -> tuple[int, object]:
    """How often others had a turn while this was done, and what came of it."""

    async def measured() -> tuple[int, object]:
        loop = asyncio.get_running_loop()
        turns = 0

        def again() -> None:
            nonlocal turns
            turns += 1
            loop.call_soon(again)

        loop.call_soon(again)
        done = await work()
        return turns, done

    return run(measured())


@pytest.mark.parametrize(("count", "expected"), [(0, 0), (1, 0), (PIECE, 0), (PIECE + 1, 1), (5 * PIECE, 4)])
def test_pieces(count: int, expected: int) -> None:
    async def work() -> list[int]:
        return [item async for piece in in_turns(range(count)) for item in piece]

    assert rests(work) == (expected, list(range(count)))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], 0),
        ([100_000], 0),
        ([1] * NAMES_PER_PIECE, 0),
        ([1] * (NAMES_PER_PIECE + 1), 1),
        ([CHARS_PER_PIECE - 1, 1], 0),
        ([CHARS_PER_PIECE, 1], 1),
        ([1, CHARS_PER_PIECE + 1, 1, 1], 2),
    ],
)
def test_pieces_of_names(lengths: list[int], expected: int) -> None:
    names = ["n" * length for length in lengths]

    async def work() -> list[str]:
        return [name async for piece in names_in_turns(names, len) for name in piece]

    assert rests(work) == (expected, names)
    assert fits_in_a_turn(names) == (expected == 0)


def cluster() -> ClusterImage:
    return advance(ClusterImage(), [BrokerRegistered(1, 1, IDS[0], (), None, (IDS[1],), False)]).after


@pytest.mark.parametrize(("topics", "partitions"), [(600, 4), (1, 2000)])
def test_many_topics_are_decided_on_and_applied_in_turns(topics: int, partitions: int) -> None:
    image, wanted = cluster(), [NewTopic(f"t-{number}", partitions, 1) for number in range(topics)]
    numbers = [iter(range(1, topics + 1)) for _ in range(2)]
    settings = {"defaults": TopicDefaults(), "config": BrokerConfig()}
    at_once = decide_create_topics(
        image, wanted, new_id=lambda: next(numbers[0]).to_bytes(16, "big"), **settings
    )

    async def decide() -> object:
        steps = create_topics_in_steps(
            image, wanted, new_id=lambda: next(numbers[1]).to_bytes(16, "big"), **settings
        )
        return await decide_in_turns(steps)

    turns, decided = rests(decide)
    assert decided == at_once
    assert turns >= topics * partitions // PARTITIONS_PER_STEP - 1

    async def apply() -> object:
        return await advance_in_turns(image, at_once.records)

    turns, applied = rests(apply)
    assert applied == advance(image, at_once.records)
    assert turns >= len(at_once.records) // 256 - 1
