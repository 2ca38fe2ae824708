"""Visitors who click through a shop for a while, leave, and come back. Some clicks are sent twice."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from event import Event, event

TOPICS = ("clicks",)
PAGES = ("/", "/search", "/shoes", "/shirts", "/cart", "/checkout")
VISITORS = 8


def events(random: Random, start: datetime) -> Iterator[Event]:
    at = start
    active = {f"visitor-{number}": at for number in range(VISITORS)}
    number = 0
    while True:
        at += timedelta(seconds=random.uniform(0.05, 0.4))
        ready = [visitor for visitor, since in active.items() if since <= at]
        if not ready:
            continue
        visitor = random.choice(ready)
        number += 1
        click = event(
            at, "clicks", visitor, click_id=f"c{number}", visitor=visitor, page=random.choice(PAGES), at=at
        )
        yield click
        if random.random() < 0.05:
            yield click  # the browser was not sure
        if random.random() < 0.1:
            active[visitor] = at + timedelta(seconds=random.uniform(15, 40))
