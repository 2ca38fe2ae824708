"""Transactions, and the producers that take part in them."""

from tests.rigs.sample_requests.groups import FIND_GROUP
from tests.rigs.sample_requests.sample import GROUP, TOPIC, TRANSACTIONAL_ID, Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import add_partitions_to_txn as add
from tidelog.wire.messages import txn_offset_commit as commit
from tidelog.wire.messages import write_txn_markers as markers
from tidelog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.wire.messages.end_txn import EndTxnRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.list_transactions import ListTransactionsRequest

FOR_CLIENTS = 3
"""The last version of AddPartitionsToTxn that clients send."""

FIND = Sample(
    ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(key_type=1, coordinator_keys=[TRANSACTIONAL_ID])
)
INIT = Sample(
    ApiKey.INIT_PRODUCER_ID,
    InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000),
    what="with a transactional id",
    before=(FIND,),
)
_PARTITIONS = [add.AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])]
ADD = Sample(
    ApiKey.ADD_PARTITIONS_TO_TXN,
    add.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TRANSACTIONAL_ID,
        v3_and_below_producer_id=0,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=_PARTITIONS,
    ),
    FOR_CLIENTS,
    what="from a client",
    before=(FIND, INIT),
)

SAMPLES = [
    INIT,
    Sample(
        ApiKey.INIT_PRODUCER_ID,
        InitProducerIdRequest(
            transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000, enable2_pc=True
        ),
        what="with two-phase commit",
        before=(FIND,),
    ),
    Sample(ApiKey.INIT_PRODUCER_ID, InitProducerIdRequest(transaction_timeout_ms=60_000)),
    ADD,
    Sample(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        add.AddPartitionsToTxnRequest(
            transactions=[
                add.AddPartitionsToTxnTransaction(
                    transactional_id=TRANSACTIONAL_ID, producer_id=0, topics=_PARTITIONS
                )
            ]
        ),
        what="as a broker",
    ),
    Sample(
        ApiKey.ADD_OFFSETS_TO_TXN,
        AddOffsetsToTxnRequest(
            transactional_id=TRANSACTIONAL_ID, producer_id=0, producer_epoch=0, group_id=GROUP
        ),
        before=(FIND, INIT),
    ),
    Sample(
        ApiKey.TXN_OFFSET_COMMIT,
        commit.TxnOffsetCommitRequest(
            transactional_id=TRANSACTIONAL_ID,
            group_id=GROUP,
            producer_id=0,
            producer_epoch=0,
            topics=[
                commit.TxnOffsetCommitRequestTopic(
                    name=TOPIC, partitions=[commit.TxnOffsetCommitRequestPartition()]
                )
            ],
        ),
        before=(FIND_GROUP, FIND, INIT),
    ),
    Sample(
        ApiKey.END_TXN,
        EndTxnRequest(transactional_id=TRANSACTIONAL_ID, producer_id=0, producer_epoch=0),
        before=(FIND, INIT),
    ),
    Sample(
        ApiKey.DESCRIBE_TRANSACTIONS,
        DescribeTransactionsRequest(transactional_ids=[TRANSACTIONAL_ID]),
        before=(FIND, INIT, ADD),
    ),
    Sample(ApiKey.LIST_TRANSACTIONS, ListTransactionsRequest(), hides=True, before=(FIND, INIT)),
    Sample(
        ApiKey.WRITE_TXN_MARKERS,
        markers.WriteTxnMarkersRequest(
            markers=[
                markers.WritableTxnMarker(
                    producer_id=9,
                    topics=[markers.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])],
                )
            ]
        ),
    ),
]
