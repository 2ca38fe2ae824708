import pytest

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.metadata.image.records import ClusterCreated, NewerFormatError, ProducerIdsAllocated
from tidelog.metadata.store.entries import data as entry_data
from tidelog.metadata.store.entries.data import decode_decision, encode_decision

RECORDS = [ClusterCreated("c"), ProducerIdsAllocated(1, 1000)]


@pytest.mark.parametrize("records", [[], RECORDS])
def test_records_survive_their_bytes(records):
    assert decode_decision(encode_decision(records)) == records


def test_too_large_a_change_is_refused(monkeypatch):
    monkeypatch.setattr(entry_data, "DECISION_BYTES_MAX", 50)
    with pytest.raises(KafkaError, match="Split the request") as caught:
        encode_decision(RECORDS)
    assert caught.value.code == ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]", b"[", b'[{"type":"cluster-created"}]', b"\xff"])
def test_what_is_no_decision(data):
    with pytest.raises(StorageError):
        decode_decision(data)


def test_record_of_a_newer_version():
    with pytest.raises(NewerFormatError, match="quota-set"):
        decode_decision(b'[{"type":"quota-set"}]')
