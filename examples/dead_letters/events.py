"""Sensors, one of which has a bug: now and then it sends text for a number, or half a document."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from event import Event, event

TOPICS = ("readings",)
SENSORS = ("cellar", "kitchen", "roof")


def events(random: Random, start: datetime) -> Iterator[Event]:
    at = start
    while True:
        at += timedelta(seconds=random.expovariate(10))
        sensor = random.choice(SENSORS)
        good = event(at, "readings", sensor, sensor=sensor, celsius=round(random.gauss(18, 4), 1), at=at)
        if sensor != "roof" or random.random() < 0.7:
            yield good
        elif random.random() < 0.5:
            yield event(at, "readings", sensor, sensor=sensor, celsius="warm", at=at)
        else:
            yield good._replace(value=good.value[: len(good.value) // 2])
