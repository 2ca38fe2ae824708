"""Objects to bytes and back, and what cannot be."""

from typing import Any

import pytest

from tidelog import DeserializationError, SerializationError, TopicPartition
from tidelog.clients.serializers import (
    bytes_deserializer,
    bytes_serializer,
    data_serializer,
    deserialize,
    json_deserializer,
    json_serializer,
    serialize,
    serialize_headers,
    text_deserializer,
    text_serializer,
)

AT: dict[str, Any] = {"place": TopicPartition("t", 3), "offset": 7, "key": b"k", "value": b"\xff"}


@pytest.mark.parametrize(
    ("there", "back", "value", "data"),
    [
        (bytes_serializer, bytes_deserializer, b"\x00\xff", b"\x00\xff"),
        (text_serializer, text_deserializer, "Grüße", "Grüße".encode()),
        (json_serializer, json_deserializer, {"ü": [1, None, "x"]}, '{"ü":[1,null,"x"]}'.encode()),
    ],
)
def test_there_and_back(there: Any, back: Any, value: Any, data: bytes) -> None:
    assert there(value) == data
    assert back(data) == value


def test_the_default_takes_bytes_and_text() -> None:
    assert data_serializer("ü") == "ü".encode()
    assert data_serializer(b"x") == b"x"
    assert data_serializer(bytearray(b"x")) == b"x"  # type: ignore[arg-type]


def test_none_is_never_serialized() -> None:
    def explode(_: object) -> bytes:
        raise AssertionError

    assert serialize(explode, None, "value", "t") is None
    assert deserialize(explode, None, "value", **AT) is None


@pytest.mark.parametrize(
    ("serializer", "value"),
    [
        (data_serializer, 5),
        (text_serializer, b"x"),
        (bytes_serializer, "x"),
        (json_serializer, {1, 2}),
        (json_serializer, float("nan")),
    ],
)
def test_what_cannot_be_serialized_names_topic_and_type(serializer: Any, value: Any) -> None:
    with pytest.raises(SerializationError, match=f"topic 'orders', a {type(value).__name__}") as caught:
        serialize(serializer, value, "value", "orders")
    assert caught.value.__cause__ is not None


def test_a_serializer_must_give_bytes() -> None:
    with pytest.raises(SerializationError, match="gave str instead of bytes"):
        serialize(lambda _: "text", 1, "key", "t")  # type: ignore[arg-type, return-value]


def test_headers_as_mapping_or_pairs() -> None:
    assert serialize_headers({"a": "x", "b": b"\xff", "c": None}, "t") == [
        ("a", b"x"),
        ("b", b"\xff"),
        ("c", None),
    ]
    assert serialize_headers([("a", "1"), ("a", "2")], "t") == [("a", b"1"), ("a", b"2")]
    assert serialize_headers(None, "t") == []
    with pytest.raises(SerializationError, match="header 'n'"):
        serialize_headers({"n": 5}, "t")  # type: ignore[dict-item]


def test_bytes_that_cannot_be_read_are_handed_over_with_the_error() -> None:
    with pytest.raises(DeserializationError, match=r"value of the message at t\[3\] offset 7") as caught:
        deserialize(text_deserializer, b"\xff", "value", **AT)
    assert (caught.value.topic_partition, caught.value.offset) == (("t", 3), 7)
    assert (caught.value.key, caught.value.value) == (b"k", b"\xff")
