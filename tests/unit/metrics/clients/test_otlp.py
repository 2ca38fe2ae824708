"""OTLP bytes: what is in them, and that bytes from anywhere are refused without harm."""

import pytest

from tests.rigs.otlp import DELTA, counter, field, gauge, metrics_data, number, point, varint
from tidelog.metrics.clients import otlp
from tidelog.metrics.clients.otlp import ATTRIBUTES_MAX, POINTS_MAX, TEXT_CHARS_MAX, DataPoint
from tidelog.metrics.clients.protobuf import FIELDS_MAX, BadProtobuf


def data_points(data: bytes) -> list[DataPoint]:
    return [point for point in otlp.data_points(data) if point is not None]


LATENCY = "org.apache.kafka.producer.node.request.latency.avg"


def test_gauges_and_sums_with_their_attributes() -> None:
    data = metrics_data(
        gauge(LATENCY, point(1.5, {"node_id": "1"}), point(2.5, {"node_id": "2"})),
        counter("creations", point(7)),
        counter("differences", point(3), temporality=DELTA),
        resource={"group_id": "g"},
    )
    assert list(data_points(data)) == [
        DataPoint(LATENCY, (("group_id", "g"), ("node_id", "1")), 1.5, False, False),
        DataPoint(LATENCY, (("group_id", "g"), ("node_id", "2")), 2.5, False, False),
        DataPoint("creations", (("group_id", "g"),), 7, True, False),
        DataPoint("differences", (("group_id", "g"),), 3, True, True),
    ]


def test_negative_and_odd_values() -> None:
    data = metrics_data(gauge("m", point(-5), point(float("inf")), point(float("-inf"))))
    assert [one.value for one in data_points(data)] == [-5, float("inf"), float("-inf")]


def test_what_is_unknown_is_passed_over() -> None:
    histogram = field(1, b"h") + field(9, field(1, b"\x00" * 0))
    nameless = field(5, field(1, point(1)))
    without_value = field(1, b"m") + field(5, field(1, b""))
    data = metrics_data(histogram, nameless, without_value, gauge("m", point(1))) + number(99, 5)
    assert [one.metric for one in data_points(data)] == ["m"]


def test_texts_and_attributes_are_bounded() -> None:
    many = {f"k{number}": "v" for number in range(100)}
    [one] = data_points(metrics_data(gauge("n" * 5000, point(1, many))))
    assert len(one.metric) == TEXT_CHARS_MAX
    assert len(one.attributes) == ATTRIBUTES_MAX
    [wide] = data_points(metrics_data(gauge("\u20ac" * 5000, point(1))))
    assert wide.metric == "\u20ac" * TEXT_CHARS_MAX


def test_values_of_attributes_have_a_text() -> None:
    def labelled(value: bytes) -> bytes:
        return field(7, field(1, b"k") + field(2, value)) + point(1)

    values = [
        number(2, 1),
        number(2, 0),
        number(3, 42),
        number(3, (1 << 64) - 1),
        varint(4 << 3 | 1) + bytes(6) + b"\xf8\x3f",
        field(5, b""),
    ]
    found = [one.attributes[0][1] for one in data_points(metrics_data(gauge("m", *map(labelled, values))))]
    assert found == ["true", "false", "42", "-1", "1.5", ""]


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",  # a length is missing
        b"\x0a\x05\x00",  # fewer bytes than the length says
        b"\xff" * 11,  # a number without an end
        b"\x0b",  # a group
        number(1, 5),  # a number in place of a message
        metrics_data(gauge("m", point(1)))[:-3],
        field(1, field(2, field(2, number(1, 7)))),  # a number in place of a name
        metrics_data(field(1, b"m") + number(20, 1) * FIELDS_MAX),  # more than any client writes
        metrics_data(gauge("m", *[b""] * (POINTS_MAX + 1))),
    ],
)
def test_what_is_no_otlp(data: bytes) -> None:
    with pytest.raises(BadProtobuf):
        list(data_points(data))


def test_work_that_gives_no_point_can_be_paused() -> None:
    """Bytes without a single point take turns as well."""
    assert len(list(otlp.data_points(number(9, 1) * 1000))) == 1000
    assert len(list(otlp.data_points(metrics_data(*[b""] * 1000)))) >= 1000
    assert len(list(otlp.data_points(field(1, number(9, 1) * 1000)))) >= 1000
    assert len(list(otlp.data_points(metrics_data(gauge("m", *[b""] * 1000))))) >= 1000
