"""Orders of a shop in five countries."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from event import Event, event

TOPICS = ("orders",)
COUNTRIES = {"DE": 5, "FR": 4, "PL": 3, "NL": 2, "AT": 1}


def events(random: Random, start: datetime) -> Iterator[Event]:
    at = start
    number = 0
    while True:
        at += timedelta(seconds=random.expovariate(20))
        number += 1
        [country] = random.choices(list(COUNTRIES), list(COUNTRIES.values()))
        cents = round(random.lognormvariate(8, 1))
        # Shops are not always online: one order in ten arrives some seconds late.
        ordered_at = at - timedelta(seconds=random.uniform(1, 4)) if random.random() < 0.1 else at
        yield event(at, "orders", country, order_id=f"o{number}", country=country, cents=cents, at=ordered_at)
