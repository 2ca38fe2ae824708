import pytest

from tidelog.transactions.record_format import (
    CorruptTransactionRecord,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
)
from tidelog.transactions.states import State
from tidelog.transactions.transaction import Identity, TopicPartition, Transaction

PARTITIONS = (TopicPartition("a", 1), TopicPartition("a", 2), TopicPartition("b", 0))
DECIDED = Transaction(
    "billing", Identity(5, 3), State.PREPARE_COMMIT, 1000, 77, PARTITIONS, 66, 2, Identity(9, 0), 4
)


def test_the_key_is_kafkas() -> None:
    assert encode_key("billing") == b"\x00\x00\x00\x07billing"
    assert decode_key(b"\x00\x00\x00\x07billing") == "billing"
    assert decode_key(b"\x00\x01\x00\x07billing") is None


def test_the_value_is_kafkas() -> None:
    assert encode_value(DECIDED) == bytes.fromhex(
        "0001"  # version
        "0000000000000005" "0003"  # producer id and epoch
        "000003e8" "02"  # timeout, state
        "03" "0261" "03" "00000001" "00000002" "00" "0262" "02" "00000000" "00"  # partitions
        "000000000000004d" "0000000000000042"  # updated, started
        "04"  # tagged: previous id, next id, client version, next epoch
        "00" "08" "0000000000000004"
        "01" "08" "0000000000000009"
        "02" "02" "0002"
        "03" "02" "0000"
    )  # fmt: skip
    assert decode_value("billing", encode_value(DECIDED)) == DECIDED


def test_an_id_that_has_begun_nothing_has_no_list_of_partitions() -> None:
    empty = Transaction("billing", Identity(5, 0), State.EMPTY, 1000, 77)
    raw = encode_value(empty)
    assert raw[17:18] == b"\x00"
    assert raw[-1:] == b"\x00"
    assert decode_value("billing", raw) == empty


def test_version_0_is_read() -> None:
    raw = bytes.fromhex(
        "0000" "0000000000000005" "0003" "000003e8" "01"
        "00000001" "000161" "00000002" "00000001" "00000002"
        "000000000000004d" "0000000000000042"
    )  # fmt: skip
    assert decode_value("billing", raw) == Transaction(
        "billing", Identity(5, 3), State.ONGOING, 1000, 77, PARTITIONS[:2], 66
    )


def test_a_next_id_without_an_epoch_starts_at_0() -> None:
    """As Kafka writes it when the epochs of the old id are used up."""
    raw = encode_value(DECIDED)
    without = raw[:-4].replace(b"\x42\x04\x00", b"\x42\x03\x00")
    assert decode_value("billing", without).next == Identity(9, 0)


@pytest.mark.parametrize("cut", [0, 1, 2, 9, 30])
def test_a_torn_record_is_named(cut: int) -> None:
    with pytest.raises(CorruptTransactionRecord):
        decode_value("billing", encode_value(DECIDED)[:cut])
    with pytest.raises(CorruptTransactionRecord):
        decode_key(encode_key("billing")[: min(cut, 8)] if cut > 2 else encode_key("billing")[:1])


def test_unknown_versions_and_states_are_refused() -> None:
    raw = encode_value(DECIDED)
    with pytest.raises(CorruptTransactionRecord):
        decode_value("billing", b"\x00\x07" + raw[2:])
    with pytest.raises(CorruptTransactionRecord):
        decode_value("billing", raw[:16] + b"\x63" + raw[17:])
