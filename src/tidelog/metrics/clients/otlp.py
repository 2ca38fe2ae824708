"""What OTLP's MetricsData says: the gauges and sums, each data point with its attributes.

A decoder of our own, since it is five small messages: a broker needs no protobuf package for them, and each
step can be paused. Clients send only these two kinds (KIP-714); histograms and summaries are passed over.
Field numbers, from the OpenTelemetry protocol's metrics/v1:
  MetricsData 1 resource_metrics        ResourceMetrics 1 resource, 2 scope_metrics
  Resource 1 attributes                 ScopeMetrics 2 metrics
  Metric 1 name, 5 gauge, 7 sum         Gauge, Sum 1 data_points; Sum 2 temporality, 3 is_monotonic
  NumberDataPoint 4 as_double, 6 as_int, 7 attributes
  KeyValue 1 key, 2 value               AnyValue 1 string, 2 bool, 3 int, 4 double
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tidelog.metrics.clients.protobuf import BadProtobuf, check_bytes, each_field, fields

_DOUBLE = struct.Struct("<d")
_INT64 = struct.Struct("<q")
_DELTA = 1
TEXT_CHARS_MAX = 200
"""Of a name, a key or a value: what is beyond is dropped. They become labels."""
ATTRIBUTES_MAX = 32
POINTS_MAX = 20_000
"""Of one metric."""

Attributes = tuple[tuple[str, str], ...]


class DataPoint(NamedTuple):
    metric: str
    attributes: Attributes
    """Those of the resource first."""
    value: float
    is_counter: bool
    is_delta: bool


def data_points(data: bytes) -> Iterator[DataPoint | None]:
    """Yields the points, and None after work that gave none: the caller may pause at each.

    Raises BadProtobuf, possibly after some points.
    """
    for number, start, end, varint in each_field(data, 0, len(data)):
        if number == 1:
            check_bytes(number, start, varint)
            yield from _of_resource(data, start, end)
        yield None


def _of_resource(data: bytes, start: int, end: int) -> Iterator[DataPoint | None]:
    """Its attributes may stand behind its metrics, so they are looked for first."""
    resource: list[tuple[str, str]] = []
    for number, begin, stop, varint in each_field(data, start, end):
        if number == 1:
            check_bytes(number, begin, varint)
            resource += _attributes(data, begin, stop)
            del resource[ATTRIBUTES_MAX:]
        yield None
    for number, begin, stop, varint in each_field(data, start, end):
        if number == 2:
            check_bytes(number, begin, varint)
            for inner, metric, metric_stop, value in each_field(data, begin, stop):
                if inner == 2:
                    check_bytes(inner, metric, value)
                    yield from _of_metric(data, metric, metric_stop, resource)
                yield None
        yield None


def _of_metric(
    data: bytes, start: int, end: int, resource: list[tuple[str, str]]
) -> Iterator[DataPoint | None]:
    name, held = "", None
    for number, begin, stop, varint in fields(data, start, end):
        if number == 1:
            check_bytes(number, begin, varint)
            name = _text(data, begin, stop)
        elif number in (5, 7):
            check_bytes(number, begin, varint)
            held = (number == 7, begin, stop)
    if not name or held is None:
        return
    is_sum, begin, stop = held
    is_delta = is_monotonic = False
    points: list[tuple[int, int]] = []
    for number, at, point_stop, varint in each_field(data, begin, stop):
        if number == 1:
            check_bytes(number, at, varint)
            points.append((at, point_stop))
            if len(points) > POINTS_MAX:
                raise BadProtobuf(f"a metric of more than {POINTS_MAX} points")
        elif number == 2:
            is_delta = varint == _DELTA
        elif number == 3:
            is_monotonic = varint == 1
        yield None
    for at, point_stop in points:
        value, labels = _of_point(data, at, point_stop)
        if value is None:
            yield None
        else:
            yield DataPoint(name, (*resource, *labels), value, is_sum and is_monotonic, is_sum and is_delta)


def _of_point(data: bytes, start: int, end: int) -> tuple[float | None, list[tuple[str, str]]]:
    value: float | None = None
    labels: list[tuple[str, str]] = []
    for number, begin, stop, varint in fields(data, start, end):
        if number == 7:
            check_bytes(number, begin, varint)
            if len(labels) < ATTRIBUTES_MAX:
                labels.append(_pair(data, begin, stop))
        elif value is None and number in (4, 6) and stop - begin == 8 and varint == -1:
            value = (_DOUBLE if number == 4 else _INT64).unpack_from(data, begin)[0]
    return value, labels


def _attributes(data: bytes, start: int, end: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for number, begin, stop, varint in fields(data, start, end):
        if number == 1:
            check_bytes(number, begin, varint)
            found.append(_pair(data, begin, stop))
    return found


def _pair(data: bytes, start: int, end: int) -> tuple[str, str]:
    key, text = "", ""
    for number, begin, stop, varint in fields(data, start, end):
        if number == 1:
            check_bytes(number, begin, varint)
            key = _text(data, begin, stop)
        elif number == 2:
            check_bytes(number, begin, varint)
            text = _any_value(data, begin, stop)
    return key, text


def _any_value(data: bytes, start: int, end: int) -> str:
    """Lists and maps have no text."""
    for number, begin, stop, varint in each_field(data, start, end):
        if number == 1:
            check_bytes(number, begin, varint)
            return _text(data, begin, stop)
        if number == 2 and varint >= 0:
            return "true" if varint else "false"
        if number == 3 and varint >= 0:
            return str(varint - (1 << 64) if varint >> 63 else varint)
        if number == 4 and stop - begin == 8:
            return str(_DOUBLE.unpack_from(data, begin)[0])
        break
    return ""


def _text(data: bytes, start: int, end: int) -> str:
    # Four bytes are the longest character of UTF-8.
    stop = min(end, start + 4 * TEXT_CHARS_MAX)
    return data[start:stop].decode(errors="replace")[:TEXT_CHARS_MAX]
