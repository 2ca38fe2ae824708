"""Content types of the registry's API: what a client may send, and which of three it gets back.

All three are the same JSON. The first is preferred where a client leaves the choice.
"""

from collections.abc import Iterator
from functools import lru_cache

V1_JSON = "application/vnd.schemaregistry.v1+json"
OFFERED = {V1_JSON: 1.0, "application/vnd.schemaregistry+json": 0.9, "application/json": 0.5}
"""With the server's own preference."""

TAKEN = frozenset((*OFFERED, "application/octet-stream"))
"""The last stands for a missing content type."""

RANGES_MAX = 50


def is_taken(content_type: str) -> bool:
    """Whether a body of the type is read; "" for a request that names none."""
    return not content_type or content_type.partition(";")[0].strip().lower() in TAKEN


@lru_cache(maxsize=128)  # clients send few different ones
def chosen(accept: str) -> str | None:
    """Returns the best of the offered types for an Accept header; None if the client takes none of them."""
    if not accept.strip():
        return V1_JSON
    ranges = dict(_ranges(accept))
    weights = {offered: _weight(ranges, offered) * own for offered, own in OFFERED.items()}
    best = max(weights, key=lambda offered: weights[offered])
    return best if weights[best] > 0 else None


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    for item in accept.split(",")[:RANGES_MAX]:
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        quality = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                quality = _quality(parameter[2:])
        yield name, quality


def _quality(text: str) -> float:
    """Returns 1 for what is no quality: the client would rather have an answer than an argument."""
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if 0.0 <= value <= 1.0 else 1.0


def _weight(ranges: dict[str, float], offered: str) -> float:
    for name in (offered, "application/*", "*/*", "*"):  # the most specific range counts
        if name in ranges:
            return ranges[name]
    return 0.0
