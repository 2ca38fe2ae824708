"""Producer ids: unique for ever. Taken from the cluster's metadata a thousand at a time."""

import asyncio
from collections.abc import Awaitable, Callable

from tidelog.base.ids import ProducerId


class ProducerIds:
    def __init__(self, allocate_block: Callable[[], Awaitable[range]]) -> None:
        self._allocate_block = allocate_block
        self._block = iter(range(0))
        self._one_at_a_time = asyncio.Lock()

    async def take(self) -> ProducerId:
        async with self._one_at_a_time:
            taken = next(self._block, None)
            while taken is None:
                # What is left of a block when a broker stops is never used: there are 2^63 of them.
                self._block = iter(await self._allocate_block())
                taken = next(self._block, None)
            return taken
