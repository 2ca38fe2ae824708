"""Our codec against two others that know nothing of ours: kio and kafka-python.

Every message version: random messages are encoded by us, read by the other, compared field by field,
written by the other, compared byte for byte, and read back by us.
"""

import datetime
import importlib
import io
import pkgutil
import uuid
from functools import cache
from random import Random

import kafka.protocol
import pytest
from kafka.protocol.api_message import ApiMessage
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer

from tests.rigs.random_messages import any_number, random_message
from tidelog.wire.apis import API as EVERY_API
from tidelog.wire.apis import FIRST_INTERNAL
from tidelog.wire.codec import decode, encode, schema_of

MESSAGES_EACH = 2
OUR_TAGS = 10_000  # from this tag on fields are Tidelog's own
API = {key: spec for key, spec in EVERY_API.items() if key < FIRST_INTERNAL}

# kafka-python is a client without admin of KRaft, delegation tokens, share and streams groups.
NOT_IN_KAFKA_PYTHON = {
    "AddRaftVoter",
    "AllocateProducerIds",
    "AlterPartition",
    "AlterShareGroupOffsets",
    "AssignReplicasToDirs",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "ConsumerGroupDescribe",
    "ConsumerGroupHeartbeat",
    "CreateDelegationToken",
    "DeleteShareGroupOffsets",
    "DeleteShareGroupState",
    "DescribeDelegationToken",
    "DescribeShareGroupOffsets",
    "ExpireDelegationToken",
    "GetTelemetrySubscriptions",
    "InitializeShareGroupState",
    "PushTelemetry",
    "ReadShareGroupState",
    "ReadShareGroupStateSummary",
    "RemoveRaftVoter",
    "RenewDelegationToken",
    "ShareAcknowledge",
    "ShareFetch",
    "ShareGroupDescribe",
    "ShareGroupHeartbeat",
    "StreamsGroupDescribe",
    "StreamsGroupHeartbeat",
    "UnregisterBroker",
    "WriteShareGroupState",
}


def joined(parts):
    return b"".join(parts)


def every_version(spec):
    for is_request in (True, False):
        cls = spec.request_class() if is_request else spec.response_class()
        for version in range(spec.min_version, spec.max_version + 1):
            yield is_request, cls, version


def kio_number(field, rng):
    """kio turns some numbers into enums, durations and dates, which do not reach as far as the wire does."""
    if field.name.endswith("error_code"):
        return rng.choice([int(code.value) for code in KioErrorCode])
    if field.type == "i64":
        return rng.choice((0, 1, 2**40 + 7))
    return any_number(field, rng)


def plain(value):
    """A value of either oracle as our codec would give it."""
    if isinstance(value, KioErrorCode):
        return int(value.value)
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.datetime):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return (value - epoch) // datetime.timedelta(milliseconds=1)
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, set):
        return sum(1 << bit for bit in value)
    return value


def their_value(entity, name):
    # kio drops the unit from the names of times; kafka-python shortens "…_authorized_operations"
    for known in (name, name.removesuffix("_ms"), name + "_ms", "authorized_operations"):
        if hasattr(entity, known):
            return getattr(entity, known)
    raise AttributeError(name)


def assert_same(ours, theirs, fields, version):
    for field in fields:
        if not field.versions.hold(version) or (field.tag or 0) >= OUR_TAGS:
            continue
        mine, other = getattr(ours, field.name), their_value(theirs, field.name)
        if mine is None or other is None:
            if (
                field.type == "uuid" and other is None
            ):  # kio has None for the zero id, and for no ids in a tag
                assert mine == ([] if field.is_array else bytes(16))
            elif not (field.is_struct and field.tag is not None):
                assert mine is None, field
                assert other is None, field
        elif field.is_array and field.is_struct:
            assert len(mine) == len(other), field
            for one, two in zip(mine, other, strict=True):
                assert_same(one, two, field.fields, version)
        elif field.is_struct:
            assert_same(mine, other, field.fields, version)
        elif field.is_array:
            zero = bytes(16) if field.type == "uuid" else None
            assert mine == [zero if item is None else plain(item) for item in other], field
        else:
            assert plain(mine) == plain(other), field


@pytest.mark.parametrize("key", API)
def test_agrees_with_kio(key):
    rng = Random(key)
    for is_request, cls, version in every_version(API[key]):
        theirs = (load_request_schema if is_request else load_response_schema)(key, version)
        read, write = entity_reader(theirs), entity_writer(theirs)
        schema, _ = schema_of(cls, version)
        for _ in range(MESSAGES_EACH):
            message = random_message(cls, version, rng, number=kio_number, tags_below=OUR_TAGS)
            wire = joined(encode(message, version))
            entity, size = read(wire, 0)
            assert size == len(wire)
            assert_same(message, entity, schema.fields, version)
            buffer = io.BytesIO()
            write(buffer, entity)
            assert buffer.getvalue() == wire, (cls, version)
            assert decode(cls, version, wire) == message


@cache
def kafka_python_classes():
    for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
        if ".old" not in module.name and "generate" not in module.name:
            importlib.import_module(module.name)
    found, queue = {}, [ApiMessage]
    while queue:
        for cls in type.__subclasses__(queue.pop()):
            queue.append(cls)
            if cls._class_version is None:
                found.setdefault((cls.API_KEY, cls.is_request()), cls)
    return found


def test_the_list_of_what_kafka_python_lacks_is_exact():
    known = kafka_python_classes()
    assert {API[key].name for key in API if (key, True) not in known} == NOT_IN_KAFKA_PYTHON


def kafka_python_number(field, rng):
    """kafka-python makes sets of bit fields, and reads an ApiVersions answer with an error as version 0."""
    if field.name.endswith("authorized_operations"):
        return rng.choice((0, 0b1010, 0x7FFF))
    return 0 if field.name == "error_code" else any_number(field, rng)


@pytest.mark.parametrize("key", [key for key, spec in API.items() if spec.name not in NOT_IN_KAFKA_PYTHON])
def test_agrees_with_kafka_python(key):
    rng = Random(key)
    for is_request, cls, version in every_version(API[key]):
        theirs = kafka_python_classes()[key, is_request]
        schema, _ = schema_of(cls, version)
        for _ in range(MESSAGES_EACH):
            message = random_message(cls, version, rng, number=kafka_python_number, tags_below=OUR_TAGS)
            wire = joined(encode(message, version))
            entity = theirs.decode(wire, version=version)
            assert_same(message, entity, schema.fields, version)
            entity._header = None  # its own decode leaves it unset, and encode asks for it
            assert bytes(entity.encode()) == wire, (cls, version)
            assert decode(cls, version, wire) == message
