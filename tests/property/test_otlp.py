"""Our reader of OTLP beside OpenTelemetry's own, and with bytes from anywhere."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData, NumberDataPoint

from tidelog.metrics.clients.otlp import ATTRIBUTES_MAX, DataPoint, data_points
from tidelog.metrics.clients.protobuf import BadProtobuf

texts = st.text(max_size=12)
values = st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1)
labels = st.dictionaries(texts, texts, max_size=4)
points = st.lists(st.tuples(values, labels), max_size=4)
metrics = st.lists(
    st.tuples(texts, st.sampled_from(["gauge", "sum", "delta", "up-down"]), points), max_size=5
)
resources = st.lists(st.tuples(labels, metrics), max_size=3)


def pairs(attributes: dict[str, str]) -> list[Any]:
    return [KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in attributes.items()]


def encoded(written: Any) -> bytes:
    data = MetricsData()
    for resource, of_resource in written:
        holder = data.resource_metrics.add()
        holder.resource.attributes.extend(pairs(resource))
        scope = holder.scope_metrics.add()
        for name, kind, of_metric in of_resource:
            metric = Metric(name=name, description="d", unit="ms")
            target = metric.gauge if kind == "gauge" else metric.sum
            target.SetInParent()
            if kind != "gauge":
                metric.sum.aggregation_temporality = 1 if kind == "delta" else 2
                metric.sum.is_monotonic = kind != "up-down"
            for value, attributes in of_metric:
                held = {"as_double" if isinstance(value, float) else "as_int": value}
                target.data_points.append(
                    NumberDataPoint(attributes=pairs(attributes), time_unix_nano=7, **held)
                )
            scope.metrics.append(metric)
    return bytes(data.SerializeToString())


@given(resources)
def test_what_opentelemetry_writes_is_read(written: Any) -> None:
    expected = [
        DataPoint(
            name,
            (*resource.items(), *attributes.items()),
            value,
            kind in ("sum", "delta"),
            kind == "delta",
        )
        for resource, of_resource in written
        for name, kind, of_metric in of_resource
        if name
        for value, attributes in of_metric
    ]
    assert [point for point in data_points(encoded(written)) if point is not None] == expected


def read(data: bytes) -> int:
    """Returns the number of points; whatever the bytes are, nothing but BadProtobuf is raised."""
    count = 0
    try:
        for point in data_points(data):
            if point is not None:
                assert len(point.attributes) <= 2 * ATTRIBUTES_MAX
                count += 1
    except BadProtobuf:
        pass
    return count


@given(st.binary(max_size=200))
def test_bytes_from_anywhere_do_no_harm(data: bytes) -> None:
    assert read(data) <= len(data)


@given(resources, st.data())
def test_damaged_bytes_do_no_harm(written: Any, draw: Any) -> None:
    data = bytearray(encoded(written))
    for _ in range(draw.draw(st.integers(0, 4))):
        if data:
            data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    end = draw.draw(st.integers(0, len(data)))
    assert read(bytes(data[:end])) <= end
