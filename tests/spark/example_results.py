"""What the example pipelines should find, worked out in plain Python from the events themselves."""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any


def documents(events: Iterable[Any], topic: str) -> list[dict[str, Any]]:
    return [json.loads(event.value) for event in events if event.topic == topic]


def moment(text: str) -> datetime:
    """Without a zone, as Spark hands moments over in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=None)


def sessions(clicks: list[dict[str, Any]], gap: timedelta) -> set[tuple[str, datetime, int]]:
    """(visitor, when it began, how many clicks)"""
    unique = {click["click_id"]: click for click in clicks}.values()
    found: dict[str, list[tuple[datetime, datetime, int]]] = defaultdict(list)
    for click in sorted(unique, key=lambda click: moment(click["at"])):
        at = moment(click["at"])
        visits = found[click["visitor"]]
        if visits and at < visits[-1][1] + gap:
            began, _, count = visits[-1]
            visits[-1] = (began, at, count + 1)
        else:
            visits.append((at, at, 1))
    return {(visitor, began, count) for visitor, visits in found.items() for began, _, count in visits}


def revenue(orders: list[dict[str, Any]]) -> dict[tuple[datetime, str], tuple[int, float]]:
    cents: dict[tuple[datetime, str], list[int]] = defaultdict(list)
    for order in orders:
        minute = moment(order["at"]).replace(second=0, microsecond=0)
        cents[minute, order["country"]].append(order["cents"])
    return {place: (len(sums), sum(sums) / 100) for place, sums in cents.items()}


def alerts(payments: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """(the small payment, the large one)"""
    tried: dict[str, dict[str, Any]] = {}
    found = set()
    for payment in sorted(payments, key=lambda payment: moment(payment["at"])):
        card = payment["card"]
        if payment["cents"] < 100:
            tried[card] = payment
            continue
        soon = card in tried and moment(payment["at"]) - moment(tried[card]["at"]) <= timedelta(minutes=1)
        if soon and payment["cents"] > 50_000:
            found.add((tried[card]["payment_id"], payment["payment_id"]))
            del tried[card]
    return found


def settled(orders: list[dict[str, Any]], payments: list[dict[str, Any]]) -> dict[str, str]:
    paid = {payment["order_id"]: moment(payment["paid_at"]) for payment in payments}
    limit = timedelta(seconds=10)
    return {
        order["order_id"]: (
            "paid"
            if order["order_id"] in paid and paid[order["order_id"]] <= moment(order["ordered_at"]) + limit
            else "unpaid"
        )
        for order in orders
    }
