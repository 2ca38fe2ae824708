"""Long lists in short turns: the loop does its other work after every few milliseconds of them.

The state may change between two turns. A list is walked as it was, and what is gone meanwhile is left out.
"""

import asyncio

WORK_IN_TURN = 1000
"""Items that are looked at: one or two milliseconds."""
CHARS_OF_WORK = 1000
"""Characters that are written as JSON in the time of one item."""


class Pauses:
    def __init__(self) -> None:
        self._left = WORK_IN_TURN

    async def spend(self, work: int = 1) -> None:
        """Some work is done; the next may be up to the next turn."""
        self._left -= work
        if self._left <= 0:
            self._left = WORK_IN_TURN
            await asyncio.sleep(0)
