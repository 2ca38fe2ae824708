"""One metric and its series: `LEADERS = gauge("tidelog_leaders", "Partitions that this broker leads.")`"""

from dataclasses import dataclass
from enum import Enum

SECONDS = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)
"""Bounds of histograms of time: from 100 us, a produce request in memory, to 10 s, a fetch that waits."""


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    kafka: str = ""
    """The MBean of Apache Kafka that says the same, for dashboards that move."""
    bounds: tuple[float, ...] = SECONDS
    """Upper bounds of a histogram's buckets; the one without a bound is added."""


def counter(name: str, help: str, *labels: str, kafka: str = "") -> Family:
    return Family(name, Kind.COUNTER, help, labels, kafka)


def gauge(name: str, help: str, *labels: str, kafka: str = "") -> Family:
    return Family(name, Kind.GAUGE, help, labels, kafka)


def histogram(
    name: str, help: str, *labels: str, kafka: str = "", bounds: tuple[float, ...] = SECONDS
) -> Family:
    return Family(name, Kind.HISTOGRAM, help, labels, kafka, bounds)
