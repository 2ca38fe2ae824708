"""The rule: a payment under one euro, and one over five hundred with the same card within a minute."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

SMALL_CENTS, LARGE_CENTS = 100, 50_000
MEMORY_MS = 60_000


class SmallThenLarge(StatefulProcessor):
    """Remembers for each card when it was last tried with a small sum; a timer forgets it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.tried = handle.getValueState("tried", "payment_id STRING, at_ms BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in sorted(rows, key=lambda row: row.at):
            at_ms = int(row.at.timestamp() * 1000)
            if row.cents < SMALL_CENTS:
                self.tried.update((row.payment_id, at_ms))
                self.handle.registerTimer(at_ms + MEMORY_MS)
                continue
            tried = self.tried.get() if self.tried.exists() else None
            if row.cents > LARGE_CENTS and tried is not None and 0 <= at_ms - tried[1] <= MEMORY_MS:
                yield Row(
                    card=key[0], tried_with=tried[0], payment_id=row.payment_id, cents=row.cents, at=row.at
                )
                self.tried.clear()

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        tried = self.tried.get() if self.tried.exists() else None
        if tried is not None and tried[1] + MEMORY_MS <= expiredTimerInfo.getExpiryTimeInMs():
            self.tried.clear()  # else the card was tried again since, and another timer is set
        return iter(())

    def close(self) -> None:
        pass
