"""What OTLP's MetricsData says: the gauges and sums, each data point with its attributes.

Clients send only these two kinds (KIP-714); histograms and summaries are passed over. Field numbers, from the
OpenTelemetry protocol's metrics/v1:
  MetricsData 1 resource_metrics        ResourceMetrics 1 resource, 2 scope_metrics
  Resource 1 attributes                 ScopeMetrics 2 metrics
  Metric 1 name, 5 gauge, 7 sum         Gauge, Sum 1 data_points; Sum 2 temporality, 3 is_monotonic
  NumberDataPoint 4 as_double, 6 as_int, 7 attributes
  KeyValue 1 key, 2 value               AnyValue 1 string, 2 bool, 3 int, 4 double
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from tidelog.metrics.clients.protobuf import BadProtobuf, Field, fields

_DOUBLE = struct.Struct("<d")
_INT64 = struct.Struct("<q")
_DELTA = 1
TEXT_CHARS_MAX = 200
"""Of a name, a key or a value: what is beyond is dropped. They become labels."""
ATTRIBUTES_MAX = 32

Attributes = tuple[tuple[str, str], ...]


class DataPoint(NamedTuple):
    metric: str
    attributes: Attributes
    """Those of the resource first."""
    value: float
    is_counter: bool
    is_delta: bool


def data_points(data: bytes) -> Iterator[DataPoint]:
    """Raises BadProtobuf, possibly after some points."""
    for resource_metrics in fields(data, 0, len(data)):
        if resource_metrics.number != 1:
            continue
        _check_message(resource_metrics)
        parts = list(fields(data, resource_metrics.start, resource_metrics.end))
        resource: list[tuple[str, str]] = []
        for part in parts:
            if part.number == 1:
                _check_message(part)
                resource += _attributes(data, part, 1)
        for part in parts:
            if part.number == 2:
                _check_message(part)
                for metric in fields(data, part.start, part.end):
                    if metric.number == 2:
                        _check_message(metric)
                        yield from _of_metric(data, metric, resource[:ATTRIBUTES_MAX])


def _of_metric(data: bytes, metric: Field, resource: list[tuple[str, str]]) -> Iterator[DataPoint]:
    name, is_sum, is_delta, is_monotonic = "", False, False, False
    points: list[Field] = []
    for part in fields(data, metric.start, metric.end):
        if part.number == 1:
            name = _text(data, part)
        elif part.number in (5, 7):
            _check_message(part)
            is_sum = part.number == 7
            for inner in fields(data, part.start, part.end):
                if inner.number == 1:
                    _check_message(inner)
                    points.append(inner)
                elif inner.number == 2:
                    is_delta = inner.varint == _DELTA
                elif inner.number == 3:
                    is_monotonic = inner.varint == 1
    if not name:
        return
    for point in points:
        value = _value(data, point)
        if value is not None:
            attributes = (*resource, *_attributes(data, point, 7))[: 2 * ATTRIBUTES_MAX]
            yield DataPoint(name, attributes, value, is_sum and is_monotonic, is_sum and is_delta)


def _value(data: bytes, point: Field) -> float | None:
    for part in fields(data, point.start, point.end):
        if part.number in (4, 6) and part.end - part.start == 8 and part.varint == -1:
            number: float = (_DOUBLE if part.number == 4 else _INT64).unpack_from(data, part.start)[0]
            return number
    return None


def _attributes(data: bytes, holder: Field, number: int) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for pair in fields(data, holder.start, holder.end):
        if pair.number == number and len(found) < ATTRIBUTES_MAX:
            _check_message(pair)
            key, text = "", ""
            for part in fields(data, pair.start, pair.end):
                if part.number == 1:
                    key = _text(data, part)
                elif part.number == 2:
                    _check_message(part)
                    text = _any_value(data, part)
            found.append((key, text))
    return found


def _any_value(data: bytes, value: Field) -> str:
    """Lists and maps have no text."""
    for part in fields(data, value.start, value.end):
        if part.number == 1:
            return _text(data, part)
        if part.number == 2 and part.varint >= 0:
            return "true" if part.varint else "false"
        if part.number == 3 and part.varint >= 0:
            return str(part.varint - (1 << 64) if part.varint >> 63 else part.varint)
        if part.number == 4 and part.end - part.start == 8:
            return str(_DOUBLE.unpack_from(data, part.start)[0])
    return ""


def _text(data: bytes, part: Field) -> str:
    _check_message(part)
    # Four bytes are the longest character of UTF-8.
    return data[part.start : min(part.end, part.start + 4 * TEXT_CHARS_MAX)].decode(errors="replace")[
        :TEXT_CHARS_MAX
    ]


def _check_message(part: Field) -> None:
    if part.varint != -1:
        raise BadProtobuf(f"field {part.number} at byte {part.start} is a number")
