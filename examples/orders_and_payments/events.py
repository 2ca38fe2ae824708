"""Orders, and the payments for most of them: some late, some never."""

import heapq
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from event import Event, event

TOPICS = ("shop-orders", "shop-payments")


def events(random: Random, start: datetime) -> Iterator[Event]:
    at = start
    number = 0
    due: list[Event] = []
    while True:
        at += timedelta(seconds=random.expovariate(8))
        while due and due[0].at <= at:
            yield heapq.heappop(due)
        number += 1
        order_id = f"o{number}"
        cents = random.randrange(500, 50_000)
        yield event(at, "shop-orders", order_id, order_id=order_id, cents=cents, ordered_at=at)
        if random.random() < 0.9:
            paid_at = at + timedelta(seconds=random.uniform(0.5, 15))
            heapq.heappush(
                due,
                event(paid_at, "shop-payments", order_id, order_id=order_id, cents=cents, paid_at=paid_at),
            )
