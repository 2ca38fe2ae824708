"""Schemas that are small to send and would be large to work on: over real HTTP, the memory stays flat.

Each needs no more than the permission to ask whether a schema is compatible.
"""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.rigs.peak_memory import peak_bytes
from tidelog.testing import Broker

MIB = 1 << 20
TIMEOUT_S = 60.0
UNKNOWN = "/compatibility/subjects/unknown/versions"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        # What the first schema of a kind loads is no growth.
        for kind, text in (
            ("AVRO", '"int"'),
            ("JSON", "{}"),
            ("PROTOBUF", 'syntax = "proto3"; message A {}'),
        ):
            assert post(running, f"/subjects/{kind}/versions", text, kind)[0] == 200
        yield running


def post(broker: Broker, path: str, text: str, kind: str = "JSON") -> tuple[int, Any]:
    connection = HTTPConnection(urlsplit(broker.schema_registry_url).netloc, timeout=TIMEOUT_S)
    try:
        body = json.dumps({"schema": text, "schemaType": kind})
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def under_a_long_name() -> str:
    inside = {f"{number:x}": {} for number in range(12_000)}
    return json.dumps({"properties": {"x" * 120_000: {"properties": inside}}})


def under_a_long_address(chars: int) -> str:
    inside = {f"p{number}": {"$id": f"i{number}"} for number in range(10_000)}
    return json.dumps({"$id": f"http://a/{'x' * chars}/", "properties": inside})


def doubling(of: str) -> str:
    """Each definition refers to the next one twice, so each difference has many paths."""
    definitions = {
        f"d{number}": {"properties": {name: {"$ref": f"#/definitions/d{number + 1}"} for name in "ab"}}
        for number in range(800)
    }
    return json.dumps({"$ref": "#/definitions/d0", "definitions": {**definitions, "d800": {"type": of}}})


def enum_of_many_fields(symbols: list[str]) -> str:
    enum = {"type": "enum", "name": "E", "symbols": symbols}
    fields = [{"name": f"f{number}", "type": "E" if number else enum} for number in range(500)]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (under_a_long_name(), 200),
        (under_a_long_address(200_000), 422),
        (under_a_long_address(2_000), 422),
        (under_a_long_address(200), 200),
    ],
)
def test_one_schema(broker: Broker, text: str, status: int) -> None:
    answers: list[tuple[int, Any]] = []
    assert peak_bytes(lambda: answers.append(post(broker, UNKNOWN, text))) < 60 * MIB
    assert answers[0][0] == status
    assert len(str(answers[0][1])) < 10_000


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("JSON", doubling("string"), doubling("number")),
        (
            "AVRO",
            enum_of_many_fields(["a", *(f"b{n}{'y' * 90}" for n in range(2000))]),
            enum_of_many_fields(["a"]),
        ),
    ],
)
def test_a_comparison(broker: Broker, kind: str, before: str, after: str) -> None:
    subject = f"known-{kind}"
    assert post(broker, f"/subjects/{subject}/versions", before, kind)[0] == 200
    path = f"/compatibility/subjects/{subject}/versions?verbose=true"
    answers: list[tuple[int, Any]] = []
    assert peak_bytes(lambda: answers.append(post(broker, path, after, kind))) < 60 * MIB
    (status, answer) = answers[0]
    assert (status, answer["is_compatible"]) == (200, False)
    assert 100 < len(answer["messages"]) < 210
    assert len(str(answer)) < MIB


def test_what_could_not_be_compared_is_not_registered(broker: Broker) -> None:
    """The text that is stored is longer than the one that was sent."""
    fields = "".join(f"int32 f{number}={number + 1};" for number in range(1000))
    inner = "".join(f"message M{number}{{{fields}}}" for number in range(42))
    text = f'syntax="proto3";{"message A{" * 6}{inner}{"}" * 6}'
    status, refused = post(broker, "/subjects/long/versions", text, "PROTOBUF")
    assert (status, "as it would be stored" in refused["message"]) == (422, True)
