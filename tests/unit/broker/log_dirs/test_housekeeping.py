import asyncio
from types import SimpleNamespace
from typing import Any

from tidelog.broker.log_dirs.housekeeping import Housekeeping


def test_sealed_segments_are_written_down_once() -> None:
    written = []

    async def checkpoint() -> None:
        written.append(1)

    flusher: Any = SimpleNamespace(has_sealed=False)
    partitions: Any = SimpleNamespace(checkpoint=checkpoint)
    clock: Any = None
    chores = Housekeeping(partitions, flusher, clock, lambda job: asyncio.Future())

    async def main() -> None:
        await chores.checkpoint_sealed()
        assert written == []
        flusher.has_sealed = True
        await chores.checkpoint_sealed()
        await chores.checkpoint_sealed()
        assert written == [1]

    asyncio.run(main())
