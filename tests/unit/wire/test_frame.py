import pytest

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import FileSlice
from tidelog.wire.apis import API, FIRST_INTERNAL, ApiKey
from tidelog.wire.codec import decode
from tidelog.wire.frame import (
    HEADER_TAGS_MAX,
    RequestHeader,
    read_request_header,
    read_response,
    write_request,
    write_response,
)
from tidelog.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from tidelog.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tidelog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

# What librdkafka sends first on every connection.
LIBRDKAFKA_HELLO = (
    bytes.fromhex("00120003000000010007") + b"rdkafka" + b"\x00" + b"\x0blibrdkafka" + b"\x062.5.0" + b"\x00"
)


def view(hexadecimal):
    return memoryview(bytes.fromhex(hexadecimal))


def test_hello_of_librdkafka():
    header, body = read_request_header(memoryview(LIBRDKAFKA_HELLO))
    assert header == RequestHeader(ApiKey.API_VERSIONS, 3, 1, "rdkafka")
    message = decode(ApiVersionsRequest, 3, LIBRDKAFKA_HELLO, body)
    assert message == ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.5.0")
    (frame,) = write_request(ApiKey.API_VERSIONS, 3, 1, "rdkafka", message)
    assert frame == len(LIBRDKAFKA_HELLO).to_bytes(4, "big") + LIBRDKAFKA_HELLO


def test_legacy_header_has_no_tags():
    header, body = read_request_header(view("000c 0003 00000009 ffff aabb"))
    assert (header, body) == (RequestHeader(12, 3, 9, None), 10)


def test_flexible_header_skips_unknown_tags():
    header, body = read_request_header(view("000c 0004 00000009 0001 61 02 0001ff 0500 aabb"))
    assert (header, body) == (RequestHeader(12, 4, 9, "a"), 17)


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "000c 0004 000000",
        "000c 0004 00000009",
        "000c 0004 00000009 00",
        "000c 0004 00000009 fffe",
        "000c 0004 00000009 0002 61",
        "000c 0004 00000009 0001 ff 00",
        "000c 0004 00000009 ffff",
        "000c 0004 00000009 ffff 01",
        "000c 0004 00000009 ffff 01 00 05",
        "000c 0004 00000009 ffff 02 0100 0100",
        "000c 0004 00000009 ffff ffffffffff",
    ],
)
def test_malformed_headers(frame):
    with pytest.raises(ProtocolError):
        read_request_header(view(frame))


def test_a_negative_client_id_is_no_long_one():
    with pytest.raises(ProtocolError):
        read_request_header(memoryview(bytes.fromhex("000c000300000009fffe") + bytes(70_000)))


def test_a_header_has_few_tags():
    tags = b"".join(bytes((tag, 0)) for tag in range(HEADER_TAGS_MAX))
    start = bytes.fromhex("000c000400000009ffff")
    assert read_request_header(memoryview(start + b"\x80\x01" + tags))[1] == len(start) + 2 + len(tags)
    with pytest.raises(ProtocolError, match="limit"):
        read_request_header(memoryview(start + b"\x81\x01" + tags + b"\x80\x01\x00"))


@pytest.mark.parametrize("api", ["03e7 0000", "0012 0063", "0000 0001", "0012 ffff", "ffff 0000"])
def test_unknown_apis_and_versions_still_have_a_header(api):
    header, _ = read_request_header(view(api + "0000002a 0003 616263"))
    assert header[2:] == (42, "abc")
    header, _ = read_request_header(view(api + "0000002a"))
    assert header[2:] == (42, None)
    header, _ = read_request_header(view(api + "0000002a 7fff"))
    assert header[2:] == (42, None)


def test_response_header_grows_a_tag_section_in_flexible_versions():
    (old,) = write_response(ApiKey.HEARTBEAT, 3, 7, HeartbeatResponse(error_code=25))
    assert old == bytes.fromhex("0000000a 00000007 00000000 0019")
    (new,) = write_response(ApiKey.HEARTBEAT, 4, 7, HeartbeatResponse(error_code=25))
    assert new == bytes.fromhex("0000000c 00000007 00 00000000 0019 00")


def test_api_versions_response_never_has_header_tags():
    message = ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)])
    (frame,) = write_response(ApiKey.API_VERSIONS, 3, 7, message)
    payload = bytes.fromhex("00000007 0000 02 0012 0000 0004 00 00000000 00")
    assert frame == len(payload).to_bytes(4, "big") + payload
    assert read_response(ApiKey.API_VERSIONS, 3, frame[4:]) == (7, message)


@pytest.mark.parametrize("version", [3, 4])
def test_requests_and_responses_come_back(version):
    request = HeartbeatRequest(group_id="g", generation_id=4, member_id="m", group_instance_id="i")
    (frame,) = write_request(ApiKey.HEARTBEAT, version, 5, None, request)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, body = read_request_header(memoryview(frame)[4:])
    assert header == RequestHeader(ApiKey.HEARTBEAT, version, 5, None)
    assert decode(HeartbeatRequest, version, frame[4:], body) == request
    (frame,) = write_response(ApiKey.HEARTBEAT, version, 5, HeartbeatResponse(throttle_time_ms=3))
    assert read_response(ApiKey.HEARTBEAT, version, frame[4:]) == (5, HeartbeatResponse(throttle_time_ms=3))


@pytest.mark.parametrize("frame", ["", "000000", "00000007", "00000007 01", "00000007 00"])
def test_malformed_responses(frame):
    with pytest.raises(ProtocolError):
        read_response(ApiKey.HEARTBEAT, 4, bytes.fromhex(frame))


class StubFile:
    path = "segment"


def test_the_size_counts_file_slices():
    records = FileSlice(StubFile(), 100, 70_000)
    partition = PartitionData(partition_index=1, records=records)
    topic = FetchableTopicResponse(topic="t", partitions=[partition])
    parts = write_response(ApiKey.FETCH, 12, 1, FetchResponse(responses=[topic]))
    assert parts[1] is records
    assert int.from_bytes(parts[0][:4], "big") == sum(map(len, parts)) - 4


def test_a_client_id_must_fit_its_length():
    with pytest.raises(ProtocolError):
        write_request(ApiKey.HEARTBEAT, 4, 1, "x" * 40_000, HeartbeatRequest())


def test_every_api_has_its_classes():
    assert len([key for key in API if key < FIRST_INTERNAL]) == 82
    for key, spec in API.items():
        assert spec.key == key == ApiKey(key)
        assert spec.request_class().__name__ == spec.name + "Request"
        assert spec.response_class().__name__ == spec.name + "Response"
        assert spec.supports(spec.min_version)
        assert not spec.supports(spec.max_version + 1)
