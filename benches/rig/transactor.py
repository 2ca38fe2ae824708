"""A producer of transactions over bare sockets, of the newest protocol (KIP-890): what the brokers can do.

Each transaction is one Produce request per leader and one EndTxn, sent as soon as the answers are there. A
client library adds a request of its own, and pauses where a transaction is not quite over.
"""

import socket
import struct
import time
from typing import Any

from crc32c import crc32c

from benches.rig.frames import call, frame
from benches.rig.load import connect
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import ATTRIBUTES_AT, CRC_AT
from tidelog.wire.frame import read_response
from tidelog.wire.messages.end_txn import EndTxnRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

Address = tuple[str, int]
PRODUCER_AT = struct.Struct(">qhi")
PRODUCER_OFFSET = 43  # in the header of a batch
PAUSE_S = 0.0005
PASSING = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Transactor:
    def __init__(self, address: Address, topic: str, name: str, records: int, record_bytes: int) -> None:
        self._topic, self._name = topic, name
        self.retries = 0
        self.seconds = {"produce": 0.0, "end": 0.0}
        metadata = call(
            address, ApiKey.METADATA, 12, MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        )
        brokers = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
        parts = sorted(metadata.topics[0].partitions, key=lambda part: int(part.partition_index))
        self._leaders = [connect(brokers[part.leader_id]) for part in parts]
        share, more = divmod(records, len(parts))
        self._batches = [_batch(share + (at < more), record_bytes) for at in range(len(parts))]
        self._coordinator = connect(_coordinator(address, name))
        self._producer = self._begin()

    def _begin(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=60_000)
        while True:
            answer = _ask(self._coordinator, ApiKey.INIT_PRODUCER_ID, 4, request)
            if answer.error_code == ErrorCode.NONE:
                return answer.producer_id, answer.producer_epoch
            _expect_passing(answer.error_code)
            time.sleep(0.05)

    def run(self) -> None:
        """One transaction, from its first record to the answer that it is committed."""
        began = time.perf_counter()
        self._write(list(range(len(self._leaders))))
        written = time.perf_counter()
        self._commit()
        self.seconds["produce"] += written - began
        self.seconds["end"] += time.perf_counter() - written

    def _write(self, partitions: list[int]) -> None:
        while partitions:
            for at in partitions:
                self._leaders[at].sendall(frame(ApiKey.PRODUCE, 12, self._produce(at)))
            again = []
            for at in partitions:
                answer = _answer(self._leaders[at], ApiKey.PRODUCE, 12)
                code = answer.responses[0].partition_responses[0].error_code
                if code:
                    _expect_passing(code)
                    again.append(at)
            partitions = again
            if again:
                self.retries += 1
                time.sleep(PAUSE_S)

    def _produce(self, partition: int) -> ProduceRequest:
        batch = self._batches[partition]
        # Each transaction has an epoch of its own, so its sequence begins at 0.
        PRODUCER_AT.pack_into(batch, PRODUCER_OFFSET, *self._producer, 0)
        struct.pack_into(">I", batch, CRC_AT, crc32c(memoryview(batch)[ATTRIBUTES_AT:]))
        data = PartitionProduceData(index=partition, records=memoryview(batch))
        return ProduceRequest(
            transactional_id=self._name,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=self._topic, partition_data=[data])],
        )

    def _commit(self) -> None:
        producer_id, epoch = self._producer
        request = EndTxnRequest(
            transactional_id=self._name, producer_id=producer_id, producer_epoch=epoch, committed=True
        )
        while True:
            answer = _ask(self._coordinator, ApiKey.END_TXN, 5, request)
            if answer.error_code == ErrorCode.NONE:
                self._producer = answer.producer_id, answer.producer_epoch
                return
            _expect_passing(answer.error_code)
            self.retries += 1
            time.sleep(PAUSE_S)

    def close(self) -> None:
        for sock in (*self._leaders, self._coordinator):
            sock.close()


def _batch(count: int, record_bytes: int) -> bytearray:
    now = time.time_ns() // 1_000_000
    records = [Record(number, now, None, bytes(record_bytes), []) for number in range(count)]
    return bytearray(
        write_batch(records, producer_id=0, producer_epoch=0, base_sequence=0, transactional=True)
    )


def _coordinator(address: Address, name: str) -> Address:
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    while True:
        [found] = call(address, ApiKey.FIND_COORDINATOR, 5, request).coordinators
        if found.error_code == ErrorCode.NONE:
            return found.host, found.port
        _expect_passing(found.error_code)
        time.sleep(0.1)


def _ask(sock: socket.socket, api: ApiKey, version: int, request: Any) -> Any:
    sock.sendall(frame(api, version, request))
    return _answer(sock, api, version)


def _answer(sock: socket.socket, api: ApiKey, version: int) -> Any:
    (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
    return read_response(api, version, sock.recv(size, socket.MSG_WAITALL))[1]


def _expect_passing(code: int) -> None:
    if code not in PASSING:
        raise RuntimeError(f"a request of the transaction got error {code}")
