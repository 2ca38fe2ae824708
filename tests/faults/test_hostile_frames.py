"""Bytes that are no request, or the request of another broker: closed, with a line that names the client."""

import struct

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import batch, create_topic, produce_request
from tests.faults.raw_client import RawClient, framed, header_bytes, request_bytes, versions
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response
from tidelog.wire.messages.api_versions import ApiVersionsRequest
from tidelog.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.usefixtures("no_failures")

HUGE = b"\xff\xff\xff\xff\x0f"
"""2^32 - 1 as an unsigned varint."""

NOT_OFFERED = 4  # LeaderAndIsr, of clusters with ZooKeeper
"""One whose answer has no room for an error; others are told that it is not offered."""

FRAMES: dict[str, tuple[bytes, str]] = {
    "size -1": (struct.pack(">i", -1), "a frame of -1 bytes"),
    "size 0": (struct.pack(">i", 0), "a frame of 0 bytes"),
    "size 2^31-1": (struct.pack(">i", 2**31 - 1), "a frame of 2147483647 bytes"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS"),
    "one byte": (framed(b"?"), "no header"),
    "seven bytes": (framed(b"\0" * 7), "no header"),
    "no client id": (framed(struct.pack(">hhi", ApiKey.METADATA, 1, 1)), "client id"),
    "client id beyond the frame": (framed(struct.pack(">hhih", ApiKey.METADATA, 1, 1, 99)), "client id"),
    "client id of -2": (framed(struct.pack(">hhih", ApiKey.METADATA, 1, 1, -2)), "client id"),
    "client id not UTF-8": (framed(struct.pack(">hhih", ApiKey.METADATA, 1, 1, 1) + b"\xff"), "UTF-8"),
    "unknown API": (framed(header_bytes(999, 0)), "API key 999"),
    "API -1": (framed(header_bytes(-1, 0)), "API key -1"),
    "API not offered": (
        framed(header_bytes(NOT_OFFERED, 0) + b"\0"),
        f"API key {NOT_OFFERED} is not offered",
    ),
    "version below": (framed(header_bytes(ApiKey.PRODUCE, 0)), "version 0 of Produce"),
    "version above": (framed(header_bytes(ApiKey.FETCH, 99)), "version 99 of Fetch"),
    "version -1": (framed(header_bytes(ApiKey.METADATA, -1)), "version -1 of Metadata"),
    "array beyond the frame": (
        framed(header_bytes(ApiKey.METADATA, 1) + struct.pack(">i", 2**31 - 1)),
        "broke the protocol",
    ),
    "array of -2": (framed(header_bytes(ApiKey.METADATA, 1) + struct.pack(">i", -2)), "broke the protocol"),
    "compact array beyond the frame": (
        framed(header_bytes(ApiKey.METADATA, 12) + b"\0" + HUGE),
        "broke the protocol",
    ),
    "varint without an end": (framed(header_bytes(ApiKey.METADATA, 12) + b"\0" + b"\xff" * 12), "protocol"),
    "tags of the header beyond the frame": (
        framed(header_bytes(ApiKey.METADATA, 12) + HUGE),
        "tagged fields",
    ),
    "body tags beyond the frame": (
        framed(request_bytes(ApiKey.METADATA, 12, MetadataRequest(topics=None))[4:-1] + HUGE),
        "broke the protocol",
    ),
    "string beyond the frame": (
        framed(header_bytes(ApiKey.METADATA, 1) + struct.pack(">ih", 1, 500) + b"x"),
        "broke the protocol",
    ),
}


@pytest.mark.parametrize("case", FRAMES)
def test_no_request(broker_log: Lines, case: str) -> None:
    """A broker for each: lines that strangers cause are few each second, and every one is looked for."""
    data, said = FRAMES[case]
    with Broker() as broker, RawClient(broker.port) as bad:
        bad.send(data)
        assert bad.is_closed()
        lines = [line for line in broker_log.text if bad.address in line]
        assert any(said in line for line in lines), broker_log.text
        _still_answers(broker)


def test_bytes_after_a_request_are_overlooked(broker: Broker) -> None:
    """As Kafka does, and as some clients rely on."""
    with RawClient(broker.port) as client:
        client.send(framed(request_bytes(ApiKey.METADATA, 1, MetadataRequest(topics=[]), 5)[4:] + b"abc"))
        assert client.receive()[:4] == struct.pack(">i", 5)


def test_answers_in_front_of_garbage_arrive(broker: Broker) -> None:
    with RawClient(broker.port) as bad:
        question = request_bytes(ApiKey.METADATA, 1, MetadataRequest(topics=[]), 41)
        bad.send(question + framed(header_bytes(999, 0)))
        assert bad.receive()[:4] == struct.pack(">i", 41)
        assert bad.is_closed()


@pytest.mark.parametrize("version", [5, 99, 32767, -1, -32768])
def test_an_unknown_version_of_api_versions_is_answered_in_the_oldest_form(
    broker: Broker, version: int
) -> None:
    with RawClient(broker.port) as client:
        client.send(framed(header_bytes(ApiKey.API_VERSIONS, version, 7) + b"whatever comes then"))
        number, answer = read_response(ApiKey.API_VERSIONS, 0, client.receive())
        assert number == 7
        assert ErrorCode(answer.error_code) is ErrorCode.UNSUPPORTED_VERSION
        # With more, franz-go would not ask again, and Java in version 0: neither would learn of features.
        offered = [(entry.api_key, entry.min_version, entry.max_version) for entry in answer.api_keys]
        known = versions(ApiKey.API_VERSIONS)
        assert offered == [(ApiKey.API_VERSIONS, known[0], known[-1])]
        # The connection lives on: the client asks again in a version that it has just been told.
        request = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
        assert client.ask(ApiKey.API_VERSIONS, request).error_code == ErrorCode.NONE


def test_what_is_advertised_is_answered_and_nothing_else(broker: Broker) -> None:
    """Every key of the protocol: either in the list, or the connection is closed."""
    for key, spec in API.items():
        with RawClient(broker.port) as client:
            client.send(framed(header_bytes(key, spec.max_version + 1)))
            if key == ApiKey.API_VERSIONS:
                client.receive()
            else:
                assert client.is_closed()


def test_half_a_frame_and_then_silence(broker_log: Lines) -> None:
    with (
        Broker(settings={"connections.half.frame.timeout.ms": 300}) as broker,
        RawClient(broker.port) as half,
        RawClient(broker.port) as quiet,
    ):
        create_topic(quiet, "t")
        whole = request_bytes(ApiKey.PRODUCE, 12, produce_request("t", batch(b"v")))
        half.send(whole[: len(whole) // 2])
        assert half.is_closed()
        assert any(half.address in line for line in broker_log.text)
        _still_answers(broker)
        quiet.ask(ApiKey.METADATA, MetadataRequest(topics=None))  # silence between frames is no fault


def _still_answers(broker: Broker) -> None:
    with RawClient(broker.port) as client:
        assert client.ask(ApiKey.METADATA, MetadataRequest(topics=[])).cluster_id
