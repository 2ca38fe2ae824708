"""Payments by card. Now and then a thief tries a card with a small sum, and takes a large one soon after."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from event import Event, event

TOPICS = ("card-payments",)
CARDS = 40
THEFT_EVERY = 60


def events(random: Random, start: datetime) -> Iterator[Event]:
    at = start
    number = 0
    while True:
        at += timedelta(seconds=random.expovariate(15))
        card = f"card-{random.randrange(CARDS)}"
        sums = [random.randrange(500, 9_000)]
        if number % THEFT_EVERY == THEFT_EVERY - 1:
            sums = [random.randrange(10, 99), random.randrange(60_000, 200_000)]
        for cents in sums:
            number += 1
            at += timedelta(milliseconds=200)
            yield event(at, "card-payments", card, payment_id=f"p{number}", card=card, cents=cents, at=at)
