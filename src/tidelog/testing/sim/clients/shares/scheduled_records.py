"""Records that share groups get later: by a time in a header, or by a delay from their timestamps."""

import random
from collections.abc import Callable

from tidelog.testing.sim.clients.producer import RecordOf
from tidelog.wire.record import Headers, Record

DELIVER_AT, DELAY = b"tidelog-deliver-at", b"tidelog-delay"
WAITS_MS = (0, 50, 300, 1_000, 2_500)


def scheduled_records(now_ms: Callable[[], int], *, part: float) -> RecordOf:
    """So many of a producer's records wait. `now_ms` is the time of its world, which no broker's clock has to
    share."""

    def record_of(number: int, value: str, chance: random.Random) -> tuple[Record, int]:
        now, due_ms = now_ms(), 0
        headers: Headers = []
        if chance.random() < part:
            wait = chance.choice(WAITS_MS)
            due_ms = now + wait
            header = (DELIVER_AT, due_ms) if chance.random() < 0.5 else (DELAY, wait)
            headers.append((header[0].decode(), str(header[1]).encode()))
        return Record(number, now, None, value.encode(), headers), due_ms

    return record_of
