"""`offset` and `limit`: a part of a list."""

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from tidelog.broker.registry.api.query import INT_MAX, Query

ItemT = TypeVar("ItemT")

SCHEMAS_MAX = 1000
"""Of one answer, as in Confluent's registry: schemas are long, names are not."""


def page(items: Iterable[ItemT], query: Query) -> list[ItemT]:
    asked = bounds(query)
    return list(islice(items, asked.start, asked.stop))


def bounds(query: Query, most: int = INT_MAX) -> range:
    """Returns the places in the list that are asked for."""
    offset, limit = max(0, query.number("offset", 0)), query.number("limit", -1)
    return range(offset, offset + (limit if 0 < limit <= most else most))
