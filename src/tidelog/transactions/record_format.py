"""Transactions as records of `__transaction_state`, in Kafka's format. No value: the id has expired.

Written as key 0 with value 1, as Kafka does from `transaction.version` 1 on; value 0 is read too.
"""

from __future__ import annotations

from typing import cast

import msgspec

from tidelog.base.errors import ProtocolError, StorageError
from tidelog.coordination.decision import StateRecord
from tidelog.transactions.states import State
from tidelog.transactions.transaction import NO_IDENTITY, Identity, TopicPartition, Transaction
from tidelog.wire.codec import decode, encode
from tidelog.wire.message import Message

VERSION_BYTES = 2
VALUE_VERSION = 1


class TransactionLogKey(Message):
    transactional_id: str = ""


class PartitionsSchema(Message):
    topic: str = ""
    partition_ids: list[int] = msgspec.field(default_factory=list)


class TransactionLogValue(Message):
    producer_id: int = -1
    previous_producer_id: int = -1
    next_producer_id: int = -1
    producer_epoch: int = -1
    next_producer_epoch: int = -1
    transaction_timeout_ms: int = 0
    transaction_status: int = 0
    transaction_partitions: list[PartitionsSchema] | None = None
    transaction_last_update_timestamp_ms: int = -1
    transaction_start_timestamp_ms: int = -1
    client_transaction_version: int = 0


SCHEMA = {
    "TransactionLogKey": """\
TransactionLogKey 0 req 0 flex=none
 transactional_id str
""",
    "TransactionLogValue": """\
TransactionLogValue 0 req 0-1 flex=1
 producer_id i64
 previous_producer_id i64 1+ tag=0 =-1
 next_producer_id i64 1+ tag=1 =-1
 producer_epoch i16
 next_producer_epoch i16 1+ tag=3 =-1
 transaction_timeout_ms i32
 transaction_status i8
 transaction_partitions []PartitionsSchema?
  topic str
  partition_ids []i32
 transaction_last_update_timestamp_ms i64
 transaction_start_timestamp_ms i64
 client_transaction_version i16 1+ tag=2 =0
""",
}


class CorruptTransactionRecord(StorageError):
    """A record of `__transaction_state` that is not in any format we know."""


def encode_key(transactional_id: str) -> bytes:
    return _versioned(0, TransactionLogKey(transactional_id=transactional_id))


def encode_value(transaction: Transaction) -> bytes:
    partitions: list[PartitionsSchema] = []
    for topic, partition in transaction.partitions:
        if not partitions or partitions[-1].topic != topic:
            partitions.append(PartitionsSchema(topic=topic, partition_ids=[]))
        partitions[-1].partition_ids.append(partition)
    value = TransactionLogValue(
        producer_id=transaction.writer.producer_id,
        previous_producer_id=transaction.previous_id,
        next_producer_id=transaction.next.producer_id,
        producer_epoch=transaction.writer.epoch,
        next_producer_epoch=transaction.next.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        # As Kafka writes it: an id that has begun nothing yet has no list, not an empty one.
        transaction_partitions=None if transaction.state is State.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.version,
    )
    return _versioned(VALUE_VERSION, value)


def decode_key(key: bytes) -> str | None:
    """The transactional id; None for a kind of record that a later version brought."""
    if _version(key) != 0:
        return None
    try:
        return decode(TransactionLogKey, 0, key, VERSION_BYTES).transactional_id
    except ProtocolError as error:
        raise CorruptTransactionRecord(f"a transaction key of {len(key)} bytes: {error}") from error


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    try:
        stored = decode(TransactionLogValue, _version(value), value, VERSION_BYTES)
        state = State(stored.transaction_status)
    except (ProtocolError, ValueError) as error:
        raise CorruptTransactionRecord(f"the record of transaction {transactional_id!r}: {error}") from error
    partitions = [
        TopicPartition(of.topic, partition)
        for of in stored.transaction_partitions or []
        for partition in of.partition_ids
    ]
    next_client = NO_IDENTITY
    if stored.next_producer_id >= 0:
        next_client = Identity(stored.next_producer_id, max(stored.next_producer_epoch, 0))
    return Transaction(
        transactional_id,
        Identity(stored.producer_id, stored.producer_epoch),
        state,
        stored.transaction_timeout_ms,
        stored.transaction_last_update_timestamp_ms,
        tuple(sorted(partitions)),
        stored.transaction_start_timestamp_ms,
        stored.client_transaction_version,
        next_client,
        stored.previous_producer_id,
    )


def _versioned(version: int, message: Message) -> bytes:
    body = cast(list[bytes], encode(message, version))  # a record holds no file ranges
    return version.to_bytes(VERSION_BYTES, "big") + b"".join(body)


def _version(data: bytes) -> int:
    if len(data) < VERSION_BYTES:
        raise CorruptTransactionRecord(f"a transaction record of {len(data)} bytes")
    return int.from_bytes(data[:VERSION_BYTES], "big")


def record_of(transaction: Transaction) -> StateRecord:
    return StateRecord(encode_key(transaction.id), encode_value(transaction))


def tombstone_of(transactional_id: str) -> StateRecord:
    return StateRecord(encode_key(transactional_id), None)
