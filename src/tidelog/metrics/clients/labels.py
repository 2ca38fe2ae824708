"""What is kept of a data point: its value, and the few labels that a page shows.

A push may have sixty attributes for each of thousands of points, and all that a broker keeps has a bound: the
rest of the attributes is dropped as soon as it is decoded.
"""

from typing import NamedTuple

from tidelog.metrics.clients.otlp import TEXT_CHARS_MAX, Attributes, DataPoint

_LABELS = {"group_id": 0, "topic": 1, "partition": 2, "node_id": 3}
_SAID_ALREADY = frozenset({"client_id", "client_instance_id"})

Labels = tuple[str, ...]


class KeptPoint(NamedTuple):
    metric: str
    labels: Labels
    value: float
    is_counter: bool
    is_delta: bool


def kept(point: DataPoint) -> KeptPoint:
    return KeptPoint(point.metric, labels_of(point.attributes), point.value, point.is_counter, point.is_delta)


def labels_of(attributes: Attributes) -> Labels:
    """Group, topic, partition, node, and all others in one text."""
    known = ["", "", "", ""]
    others: list[str] = []
    for key, text in attributes:
        plain = key.replace("-", "_").replace(".", "_")
        if plain in _LABELS:
            known[_LABELS[plain]] = text
        elif plain not in _SAID_ALREADY:
            others.append(f"{plain}={text}")
    return (*known, ",".join(sorted(others))[:TEXT_CHARS_MAX])
