import subprocess
import sys
import tracemalloc
from random import Random

import pytest

from tests.rigs.random_messages import random_message
from tidelog.base.errors import ProtocolError
from tidelog.base.ports import FileSlice
from tidelog.wire.apis import API
from tidelog.wire.codec import decode, decoder, encode, encoder, schema_of
from tidelog.wire.measure import weight
from tidelog.wire.message import Message
from tidelog.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from tidelog.wire.messages.describe_client_quotas import DescribeClientQuotasResponse, EntryData, ValueData
from tidelog.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from tidelog.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tidelog.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)


def joined(message, version):
    return b"".join(encode(message, version))


def hexadecimal(text):
    return bytes.fromhex(text.replace("'", ""))


def every_message():
    for spec in API.values():
        for cls in (spec.request_class(), spec.response_class()):
            for version in range(spec.min_version, spec.max_version + 1):
                yield cls, version


def test_every_message_version_survives_a_round_trip():
    rng = Random(1)
    for cls, version in every_message():
        for message in (cls(), random_message(cls, version, rng)):
            assert decode(cls, version, joined(message, version)) == message, (cls, version)


def test_metadata_request_v0_by_hand():
    wire = hexadecimal("00000002 0001 61 0002 6262")
    message = MetadataRequest(topics=[MetadataRequestTopic(name="a"), MetadataRequestTopic(name="bb")])
    assert decode(MetadataRequest, 0, wire) == message
    assert joined(message, 0) == wire


def test_metadata_request_v12_by_hand():
    topic_id = bytes(range(16))
    wire = hexadecimal("03" + topic_id.hex() + "00 00" + bytes(16).hex() + "02 61 00" + "00 01 00")
    message = MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=topic_id, name=None), MetadataRequestTopic(name="a")],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
    )
    assert decode(MetadataRequest, 12, wire) == message
    assert joined(message, 12) == wire


def test_produce_request_v3_by_hand():
    wire = hexadecimal("ffff ffff 00007530 00000001 0001 74 00000001 00000005 00000003 010203")
    message = decode(ProduceRequest, 3, wire)
    assert (message.transactional_id, message.acks, message.timeout_ms) == (None, -1, 30_000)
    (partition,) = message.topic_data[0].partition_data
    assert (message.topic_data[0].name, partition.index, bytes(partition.records)) == (
        "t",
        5,
        b"\x01\x02\x03",
    )
    assert joined(message, 3) == wire


def test_produce_response_v9_by_hand():
    partition = PartitionProduceResponse(index=5, base_offset=9)
    message = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[partition])])
    wire = hexadecimal(
        "02 02 74 02 00000005 0000 0000000000000009 ffffffffffffffff ffffffffffffffff 01 00 00 00 00000000 00"
    )
    assert joined(message, 9) == wire
    assert decode(ProduceResponse, 9, wire) == message


def test_nullable_struct_by_hand():
    message = DescribeTopicPartitionsRequest(cursor=Cursor(topic_name="t", partition_index=1))
    assert joined(message, 0) == hexadecimal("01 000007d0 01 02 74 00000001 00 00")
    assert joined(DescribeTopicPartitionsRequest(), 0) == hexadecimal("01 000007d0 ff 00")
    assert decode(DescribeTopicPartitionsRequest, 0, hexadecimal("01 000007d0 ff 00")).cursor is None


def test_floats_by_hand():
    entry = EntryData(values=[ValueData(key="k", value=1.5)])
    wire = hexadecimal("00000000 0000 00 02 01 02 02 6b 3ff8000000000000 00 00 00")
    assert joined(DescribeClientQuotasResponse(entries=[entry]), 1) == wire


def test_records_are_views_into_the_frame():
    frame = bytearray(joined(produce(b"x" * 2000), 9))
    records = decode(ProduceRequest, 9, memoryview(frame)).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[0] = ord("y")
    assert b"yxxx" in frame


def produce(records):
    partition = PartitionProduceData(index=1, records=None if records is None else memoryview(records))
    return ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("size", [None, 0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 2_100_000])
def test_records_of_any_size(version, size):
    message = produce(None if size is None else bytes(size))
    assert decode(ProduceRequest, version, joined(message, version)) == message


class NoFile:
    path = "segment"


def fetched(records):
    topic = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=item) for item in records])
    return FetchResponse(responses=[topic])


@pytest.mark.parametrize("version", [11, 12])
def test_large_records_and_file_slices_are_parts_of_their_own(version):
    large, of_file = bytes(5000), FileSlice(NoFile(), 7, 3)
    parts = encode(fetched([large, b"small", of_file, None]), version)
    assert [part for part in parts if not isinstance(part, bytearray)] == [large, of_file]
    assert any(part is large for part in parts)
    assert any(part is of_file for part in parts)
    assert all(len(part) for part in parts)
    as_bytes = b"".join(b"abc" if part is of_file else part for part in parts)
    partitions = decode(FetchResponse, version, as_bytes).responses[0].partitions
    assert [item.records and bytes(item.records) for item in partitions] == [large, b"small", b"abc", None]


def test_no_empty_part_after_records():
    assert len(encode(fetched([bytes(5000)]), 4)) == 2


def test_an_encoder_appends_to_what_it_is_given():
    out = bytearray(b"head")
    parts = encoder(ProduceResponse, 9)(ProduceResponse(), out)
    assert parts[0] is out
    assert out.startswith(b"head\x01")


def test_a_decoder_starts_at_a_position():
    wire = b"head" + joined(MetadataRequest(topics=None), 1)
    assert decoder(MetadataRequest, 1)(memoryview(wire), 4).topics is None


def test_long_strings_and_arrays():
    names = [f"{'x' * 130}{number}" for number in range(300)]
    message = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
    for version in (0, 12):
        assert decode(MetadataRequest, version, joined(message, version)) == message
    response = MetadataResponse(cluster_id="x" * 32_767)
    assert decode(MetadataResponse, 12, joined(response, 12)) == response


def test_tags_are_written_only_where_they_differ_from_their_default():
    def size(**tags):
        topic = FetchableTopicResponse(partitions=[PartitionData(**tags)])
        return len(joined(FetchResponse(responses=[topic]), 12))

    plain = size()
    assert size(diverging_epoch=EpochEndOffset()) == plain
    assert size(diverging_epoch=EpochEndOffset(epoch=3, end_offset=9)) == plain + 2 + 13


def test_fields_that_a_version_lacks_are_left_out_and_come_back_as_defaults():
    message = FetchRequest(rack_id="r", session_epoch=4, max_bytes=1)
    back = decode(FetchRequest, 4, joined(message, 4))
    assert back == FetchRequest(max_bytes=1)


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (FetchRequest(max_bytes=None), 12),
        (FetchRequest(max_bytes=2**31), 12),
        (FetchRequest(rack_id=None), 12),
        (FetchRequest(topics=None), 12),
        (FetchRequest(topics=[None]), 12),
        (FetchRequest(topics=[FetchTopic(topic=None)]), 12),
        (FetchRequest(topics=[FetchTopic(topic_id=None)]), 13),
        (FetchRequest(topics=[FetchTopic(topic_id=bytes(15))]), 13),
        (FetchRequest(topics=[FetchTopic(partitions=[FetchPartition(replica_directory_id=None)])]), 17),
        (FetchRequest(topics=[FetchTopic(partitions=[FetchPartition(high_watermark=None)])]), 18),
        (FetchRequest(rack_id="x" * 32_768), 11),
        (FetchRequest(rack_id="x" * 32_768), 12),
        (FetchRequest(rack_id="\ud800"), 12),
        (FetchRequest(rack_id=5), 12),
        (FetchResponse(node_endpoints=None), 16),
        (MetadataRequest(topics=None), 0),
        (MetadataRequest(topics=[], allow_auto_topic_creation=None), 12),
        (MetadataRequest(topics=[MetadataRequestTopic(name=None)]), 9),
        (JoinGroupResponse(protocol_name=None), 6),
        (JoinGroupRequest(protocols=[JoinGroupRequestProtocol(metadata=None)]), 6),
        (JoinGroupRequest(protocols=[JoinGroupRequestProtocol(metadata="text")]), 6),
        (CreateTopicsResponse(topics=[CreatableTopicResult(topic_config_error_code=None)]), 5),
    ],
)
def test_what_a_version_cannot_express_is_refused(message, version):
    with pytest.raises(ProtocolError):
        encode(message, version)


def test_nulls_are_allowed_from_their_version_on():
    assert decode(MetadataRequest, 1, joined(MetadataRequest(topics=None), 1)).topics is None
    assert (
        decode(JoinGroupResponse, 7, joined(JoinGroupResponse(protocol_name=None), 7)).protocol_name is None
    )


@pytest.mark.parametrize("version", [-1, 14])
def test_unknown_versions(version):
    with pytest.raises(ProtocolError, match="versions 0 to 13"):
        encode(MetadataRequest(), version)
    with pytest.raises(ProtocolError, match="versions 0 to 13"):
        decode(MetadataRequest, version, b"")


def test_a_nested_struct_is_no_message():
    with pytest.raises(ProtocolError, match="not a message"):
        encode(FetchTopic(), 12)
    with pytest.raises(ProtocolError, match="not a message"):
        decode(Message, 0, b"")


@pytest.mark.parametrize(
    ("message", "version", "path"),
    [
        (
            FetchRequest(topics=[FetchTopic(partitions=[FetchPartition(fetch_offset=2**40)] * 3000)]),
            12,
            (9, 2),
        ),
        (MetadataRequest(topics=[MetadataRequestTopic(name="ab")] * 3000), 8, (0,)),
        (ProduceRequest(topic_data=[TopicProduceData(name="ab")] * 3000), 8, (3,)),
    ],
)
def test_the_estimated_weight_of_an_element_covers_what_python_allocates(message, version, path):
    fields = schema_of(type(message), version)[0].fields
    for step in path:
        array = fields[step]
        fields = array.fields
    wire = memoryview(joined(message, version))
    decode_it = decoder(type(message), version)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = decode_it(wire)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept is not None
    assert used <= 1.1 * 3000 * weight(array, version)


def test_importing_the_codec_imports_no_message():
    script = (
        "import sys, tidelog.wire.frame;"
        "print([name for name in sys.modules if name.startswith('tidelog.wire.messages.')"
        " or name.startswith('tidelog.wire.compile')])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['tidelog.wire.messages.index']"


def test_bytes_after_a_request_are_let_through_where_asked_for() -> None:
    """librdkafka 2.16 asks for all topics like this: three bytes too many, after a null array."""
    as_sent = bytes.fromhex("00000000010000")
    with pytest.raises(ProtocolError, match="3 bytes too many"):
        decode(MetadataRequest, 13, as_sent)
    assert decode(MetadataRequest, 13, as_sent, rest=True).topics is None
    with pytest.raises(ProtocolError, match="malformed"):
        decode(MetadataRequest, 13, as_sent[:3], rest=True)
