"""Work of any size in pieces that fit into a turn of the event loop: between them everybody else is served.

Pieces are counted, not timed, so that a run can be repeated. A piece should take a few milliseconds at most.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from tidelog.metadata.decision import Decision, Steps
from tidelog.metadata.image.builder import ImageBuilder
from tidelog.metadata.image.image import ClusterImage, ImageDelta
from tidelog.metadata.image.records import Record

T = TypeVar("T")

PIECE = 64
"""Partitions that one turn takes care of."""
RECORDS_PER_PIECE = 256
NAMES_PER_PIECE = 16
CHARS_PER_PIECE = 4096
"""Of names that clients choose. They have up to 32,767 characters, and each one is hashed."""


async def in_turns(items: Iterable[T], size: int = PIECE) -> AsyncIterator[Sequence[T]]:
    """Piece by piece; the loop has a turn after each but the last, and a single one is worked off at once."""
    rest = iter(items)
    piece = tuple(islice(rest, size))
    while piece:
        yield piece
        piece = tuple(islice(rest, size))
        if piece:
            await asyncio.sleep(0)


async def names_in_turns(
    items: Sequence[T], chars_of: Callable[[T], int], size: int = NAMES_PER_PIECE
) -> AsyncIterator[Sequence[T]]:
    """As `in_turns`, where an item costs as much as its name is long."""
    is_first = True
    for piece in _pieces(items, chars_of, size):
        if not is_first:
            await asyncio.sleep(0)
        is_first = False
        yield piece


def fits_in_a_turn(names: Sequence[str]) -> bool:
    """Whether `names_in_turns` makes one piece of them."""
    return len(names) < 2 or (len(names) <= NAMES_PER_PIECE and sum(map(len, names)) <= CHARS_PER_PIECE)


def _pieces(items: Sequence[T], chars_of: Callable[[T], int], size: int) -> Iterator[list[T]]:
    piece: list[T] = []
    chars = 0
    for item in items:
        more = chars_of(item)
        if piece and (len(piece) == size or chars + more > CHARS_PER_PIECE):
            yield piece
            piece, chars = [], 0
        piece.append(item)
        chars += more
    if piece:
        yield piece


async def decide_in_turns(steps: Steps[T]) -> Decision[T]:
    while True:
        try:
            next(steps)
        except StopIteration as decided:
            decision: Decision[T] = decided.value
            return decision
        await asyncio.sleep(0)


async def advance_in_turns(image: ClusterImage, records: Iterable[Record]) -> ImageDelta:
    """As `metadata.image.advance`. Records that are decoded while they are taken are so in turns, too."""
    builder = ImageBuilder(image)
    async for piece in in_turns(records, RECORDS_PER_PIECE):
        for record in piece:
            builder.apply(record)
    return builder.delta()
