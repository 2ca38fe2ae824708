"""Orders in Avro. After a minute the shop has a new release, whose orders have a field for coupons."""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from event import Event

from tidelog import avro_serializer

TOPICS = ("avro-orders",)
COUNTRIES = ("DE", "FR", "PL")
FIELDS: list[dict[str, Any]] = [
    {"name": "order_id", "type": "string"},
    {"name": "country", "type": "string"},
    {"name": "cents", "type": "long"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
]
COUPON: dict[str, Any] = {"name": "coupon", "type": ["null", "string"], "default": None}
NEW_RELEASE = 1200
"""The last order of the old release: twenty come in a second."""


def events(random: Random, start: datetime) -> Iterator[Event]:
    registry = os.environ.get("SCHEMA_REGISTRY", "http://localhost:8081")
    schema = {"type": "record", "name": "shop.Order", "fields": FIELDS}
    before = avro_serializer(registry, schema)
    after = avro_serializer(registry, {**schema, "fields": [*FIELDS, COUPON]})
    at = start
    number = 0
    while True:
        at += timedelta(seconds=random.expovariate(20))
        number += 1
        country = random.choice(COUNTRIES)
        cents = round(random.lognormvariate(8, 1))
        order = {"order_id": f"o{number}", "country": country, "cents": cents, "at": at}
        serializer = before
        if number > NEW_RELEASE:
            serializer = after
            order["coupon"] = "WELCOME" if random.random() < 0.2 else None
        yield Event(at, TOPICS[0], country, serializer.serialize_for(TOPICS[0], False, order))
