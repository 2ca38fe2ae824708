import msgspec
import pytest

from tidelog.base.errors import StorageError
from tidelog.metadata.image.records import (
    BrokerRegistered,
    ConfigChanged,
    Endpoint,
    MetadataRecord,
    PartitionCreated,
    ResourceKind,
    TopicCreated,
    decode_record,
    encode_record,
)

ID = "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    "record",
    [
        TopicCreated("orders", ID),
        PartitionCreated(ID, 0, (1, 2), (1,), 1, directories=(ID, ID)),
        ConfigChanged(ResourceKind.BROKER, "", "log.retention.ms", None),
        BrokerRegistered(1, 7, ID, (Endpoint("PLAINTEXT", "::1", 9092),), "rack-a"),
    ],
)
def test_record_survives_its_json(record):
    assert decode_record(encode_record(record)) == record


def test_json_is_readable_by_people_and_other_tools():
    assert msgspec.json.decode(encode_record(TopicCreated("orders", ID))) == {
        "type": "topic-created",
        "name": "orders",
        "topic_id": ID,
    }


def test_tags_are_part_of_the_format():
    """Changing one of these makes old logs unreadable."""
    assert {str(cls.__struct_config__.tag) for cls in MetadataRecord.__subclasses__()} == {
        "cluster-created",
        "broker-registered",
        "broker-changed",
        "broker-unregistered",
        "topic-created",
        "topic-deleted",
        "partition-created",
        "partition-changed",
        "config-changed",
        "producer-ids-allocated",
        "feature-changed",
        "acl-created",
        "acl-deleted",
        "role-changed",
        "role-deleted",
        "role-members-changed",
        "scram-credential-changed",
        "scram-credential-deleted",
        "quota-changed",
        "delegation-token-changed",
        "delegation-token-deleted",
    }


def test_unknown_type_says_that_a_newer_version_wrote_it():
    with pytest.raises(StorageError, match=r"unknown type 'link-created': a newer version of Tidelog"):
        decode_record(b'{"type":"link-created","cluster":"west"}')


def test_unknown_field_is_refused_not_dropped():
    with pytest.raises(StorageError, match=r"(?s)'topic-created'.*newer version"):
        decode_record(b'{"type":"topic-created","name":"a","topic_id":"x","colour":"red"}')


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[1]", b"\xff\xfe", b'{"type":"topic-created","name":7}', b'{"name":"a"}']
)
def test_what_is_no_record_is_a_storage_error(data):
    with pytest.raises(StorageError):
        decode_record(data)
