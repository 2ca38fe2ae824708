"""Work of any size in pieces that fit into a turn of the event loop: between them everybody else is served.

Pieces are counted, not timed, so that a run can be repeated. A piece should take a few milliseconds at most.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
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


async def in_turns(items: Iterable[T], size: int = PIECE) -> AsyncIterator[Sequence[T]]:
    """Piece by piece; the loop has a turn after each but the last, and a single one is worked off at once."""
    rest = iter(items)
    piece = tuple(islice(rest, size))
    while piece:
        yield piece
        piece = tuple(islice(rest, size))
        if piece:
            await asyncio.sleep(0)


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
