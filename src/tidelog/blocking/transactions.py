"""Requests to transaction coordinators. Each is retried until it is answered, or its time is up."""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import TRANSACTION, Cluster, TopicPartition
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from tidelog.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tidelog.wire.messages.end_txn import EndTxnRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

ONGOING = "Ongoing"
PREPARE_COMMIT = "PrepareCommit"
ENDING = (PREPARE_COMMIT, "PrepareAbort")

EPOCH_BUMPS = 2
"""The transaction version (KIP-890) whose ends bring a new epoch, and whose writes join by themselves."""
END_TXN_BEFORE_BUMPS = 4
FIRST_WITH_TWO_PHASES = 6

REFUSES_TWO_PHASES = (
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_REQUEST,
)
OVER = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
)
"""Answers to an end: there is no such transaction any more."""


class Described(NamedTuple):
    state: str
    writer: ProducerIdentity


class TransactionCalls:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def writes_join(self) -> bool:
        """Whether a write makes its partition part of the transaction; else `join` has to."""
        return self._cluster.feature("transaction.version") >= EPOCH_BUMPS

    def producer_id(self) -> ProducerIdentity:
        """For an idempotent producer without transactions."""
        answer: InitProducerIdResponse = self._cluster.call_any(InitProducerIdRequest())
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    def init(self, id: str, timeout_ms: int) -> ProducerIdentity:
        """Takes the id: fences its earlier producer, and aborts the transaction that it left open."""
        question = InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=timeout_ms)
        answer: InitProducerIdResponse = self._cluster.call_coordinator(TRANSACTION, id, question)
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    def take_over(self, id: str) -> tuple[ProducerIdentity, ProducerIdentity] | None:
        """Keeps the open transaction of this id for as long as it takes (KIP-939), and fences its writer.

        Our identity, and the writer's: an empty one where no transaction was open. None: the cluster has no
        two-phase commit, and nothing was done.
        """
        node = self._cluster.attempts(f"coordinator of {id}").run(
            lambda: self._cluster.coordinator(TRANSACTION, id)
        )
        if self._cluster.connection(node).version(InitProducerIdRequest) < FIRST_WITH_TWO_PHASES:
            return None
        question = InitProducerIdRequest(transactional_id=id, enable2_pc=True, keep_prepared_txn=True)
        try:
            answer: InitProducerIdResponse = self._cluster.call_coordinator(TRANSACTION, id, question)
        except KafkaError as refusal:
            if refusal.code in REFUSES_TWO_PHASES:
                return None
            raise
        ours = ProducerIdentity(answer.producer_id, answer.producer_epoch)
        return ours, ProducerIdentity(answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch)

    def describe(self, id: str) -> Described | None:
        """Returns None for an id that was never used, or has expired."""

        def failed(answer: DescribeTransactionsResponse) -> int:
            code = answer.transaction_states[0].error_code
            return 0 if code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND else code

        question = DescribeTransactionsRequest(transactional_ids=[id])
        answer: DescribeTransactionsResponse = self._cluster.call_coordinator(
            TRANSACTION, id, question, failed=failed
        )
        found = answer.transaction_states[0]
        if found.error_code:
            return None
        return Described(found.transaction_state, ProducerIdentity(found.producer_id, found.producer_epoch))

    def join(self, id: str, producer: ProducerIdentity, partitions: list[TopicPartition]) -> None:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, []).append(partition)
        question = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in by_topic.items()
            ],
        )

        def failed(answer: AddPartitionsToTxnResponse) -> int:
            codes = (
                result.partition_error_code
                for topic in answer.results_by_topic_v3_and_below
                for result in topic.results_by_partition
            )
            wrong = [code for code in codes if code]
            # Those that only were not tried, because another was refused, say nothing.
            return next((code for code in wrong if code != ErrorCode.OPERATION_NOT_ATTEMPTED), 0)

        self._cluster.call_coordinator(TRANSACTION, id, question, failed=failed, at_most=3)

    def end(self, id: str, ender: ProducerIdentity, *, commit: bool) -> ErrorCode:
        """NONE, or one of OVER; any other refusal is raised. The same end may be asked for again."""
        question = EndTxnRequest(
            transactional_id=id, producer_id=ender.producer_id, producer_epoch=ender.epoch, committed=commit
        )
        at_most = None if self.writes_join else END_TXN_BEFORE_BUMPS
        try:
            self._cluster.call_coordinator(TRANSACTION, id, question, at_most=at_most)
        except KafkaError as refusal:
            if refusal.code in OVER:
                return refusal.code
            raise
        return ErrorCode.NONE

    def is_open(self, id: str, writer: ProducerIdentity) -> bool:
        found = self.describe(id)
        return found is not None and found.state == ONGOING and found.writer == writer

    def abort_open(self, id: str, writer: ProducerIdentity, timeout_ms: int) -> None:
        """Aborts what this writer has open under the id; the transaction of a later writer may be decided."""
        if not self.is_open(id, writer):
            return
        # By its own identity first, lest a late request meet a later transaction. It is another's where a
        # driver had taken it over, and then only a newcomer may abort it.
        if self.end(id, writer, commit=False) is not ErrorCode.NONE:
            self.init(id, timeout_ms)

    def under_way(self, prefix: str) -> dict[str, str]:
        """The state of each id with this prefix whose transaction is open or being ended, on any broker."""
        question = ListTransactionsRequest(state_filters=[ONGOING, *ENDING])

        def ask() -> dict[str, str]:
            found = {}
            for node in self._cluster.nodes():
                answer: ListTransactionsResponse = self._cluster.call_node(node, question)
                if answer.error_code:
                    raise KafkaError(ErrorCode.of(answer.error_code))
                found.update(
                    {one.transactional_id: one.transaction_state for one in answer.transaction_states}
                )
            return {id: state for id, state in found.items() if id.startswith(prefix)}

        return self._cluster.attempts("list of transactions").run(ask)
