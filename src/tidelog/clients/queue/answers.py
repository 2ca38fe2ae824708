"""What the answers of a broker mean for the jobs: delivered, confirmed, refused, tried again, or lost."""

from collections.abc import Mapping

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.clients.log import LOG
from tidelog.clients.queue.acknowledgements import PendingAck
from tidelog.clients.queue.delivered import DeliveredRecords, PartitionKey
from tidelog.clients.queue.session import BrokerSession
from tidelog.clients.queue.stock import LOCK_ENDED, JobStock
from tidelog.wire.messages.share_acknowledge import ShareAcknowledgeResponse
from tidelog.wire.messages.share_fetch import ShareFetchResponse

RETRY_S = 0.1
RETRY_MAX_S = 2.0
DRY_S = 0.05

MOVED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Another broker leads the partition, and knows no locks of this member."""
IN_VAIN = frozenset(
    {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    }
)
"""Errors that stay, however often the client tries."""
MAY_PASS = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR})


class AnswerReader:
    def __init__(self, stock: JobStock) -> None:
        self._stock = stock
        self.wants_metadata = False
        """Whether leaders have moved."""

    def fetched(
        self,
        session: BrokerSession,
        answer: ShareFetchResponse,
        delivered: Mapping[PartitionKey, DeliveredRecords],
        now: float,
    ) -> None:
        """`delivered` has the answer's records. KafkaError where a retry is in vain."""
        if self._is_refused(session, answer.error_code, answer.error_message, now):
            return
        if answer.acquisition_lock_timeout_ms > 0:
            session.lock_s = answer.acquisition_lock_timeout_ms / 1000
        answered = session.advance()
        for topic in answer.responses:
            if topic.topic_id != session.topic_id:
                continue
            for data in topic.partitions:
                acks = answered.pop(data.partition_index, None)
                if acks:
                    error = KafkaError(
                        ErrorCode.of(data.acknowledge_error_code), data.acknowledge_error_message
                    )
                    self._resolve(session, data.partition_index, acks, error, now)
                if data.error_code:
                    failure = KafkaError(ErrorCode.of(data.error_code), data.error_message)
                    self._partition_failed(session, data.partition_index, failure, now)
                elif (found := delivered.get((topic.topic_id, data.partition_index))) is not None:
                    self._stock.add(session, data.partition_index, found, now)
        self._confirm_rest(answered)
        if not delivered:
            session.dry_until = now + DRY_S

    def acknowledged(self, session: BrokerSession, answer: ShareAcknowledgeResponse, now: float) -> None:
        """KafkaError where a retry is in vain."""
        if self._is_refused(session, answer.error_code, answer.error_message, now):
            return
        if answer.acquisition_lock_timeout_ms > 0:
            session.lock_s = answer.acquisition_lock_timeout_ms / 1000
        is_ending, is_renewing = session.is_ending, session.is_renewing
        answered = session.advance()
        for topic in answer.responses:
            if topic.topic_id != session.topic_id:
                continue
            for data in topic.partitions:
                acks = answered.pop(data.partition_index, None)
                if acks:
                    error = KafkaError(ErrorCode.of(data.error_code), data.error_message)
                    resolve = self._renewed if is_renewing else self._resolve
                    resolve(session, data.partition_index, acks, error, now)
        if is_renewing:
            for partition, acks in answered.items():
                self._renewed(session, partition, acks, KafkaError(ErrorCode.NONE), now)
        else:
            self._confirm_rest(answered)
        if is_ending:
            self._stock.lose(session.end(), "the queue was closed; the broker has released the job.")

    def lost(self, session: BrokerSession, why: str, now: float) -> None:
        """The session is over: its connection broke, or the broker does not know it."""
        session.failures += 1
        session.retry_at = now + min(RETRY_S * 2 ** (session.failures - 1), RETRY_MAX_S)
        self._stock.lose(session.end(), why)
        self.wants_metadata = True

    def _is_refused(self, session: BrokerSession, code: int, message: str | None, now: float) -> bool:
        error = ErrorCode.of(code)
        if error is ErrorCode.NONE:
            session.failures = 0
            return False
        self.lost(session, f"the broker refused the session: {message or error.text} ({error.name}).", now)
        if error in IN_VAIN:
            raise KafkaError(error, message)
        LOG.info("broker %d begins a new share session: %s %s", session.node, error.name, message or "")
        return True

    def _confirm_rest(self, answered: Mapping[int, list[PendingAck]]) -> None:
        """Partitions that the answer does not name have no error."""
        for acks in answered.values():
            self._stock.confirm(acks)

    def _resolve(
        self, session: BrokerSession, partition: int, acks: list[PendingAck], error: KafkaError, now: float
    ) -> None:
        code = error.code
        if code is ErrorCode.NONE:
            self._stock.confirm(acks)
        elif code in MOVED:
            self._stock.refuse(acks, error)
            self._moved(session, partition)
        elif code.retriable or code in MAY_PASS:
            session.retry_at = now + RETRY_S
            self._again(session, partition, acks, now)
        elif code in IN_VAIN:
            self._stock.refuse(acks, error)
            raise error
        elif len(acks) > 1:  # all are refused for the one at fault
            session.acks.add_halves(partition, acks)
        else:
            self._stock.refuse(acks, error)

    def _again(self, session: BrokerSession, partition: int, acks: list[PendingAck], now: float) -> None:
        late = []
        for ack in acks:
            if ack.job is None or now < ack.job.deadline:
                session.acks.add(partition, ack, now)
            else:
                late.append(ack.job)
        self._stock.lose(late, LOCK_ENDED)

    def _renewed(
        self, session: BrokerSession, partition: int, acks: list[PendingAck], error: KafkaError, now: float
    ) -> None:
        code = error.code
        jobs = [ack.job for ack in acks if ack.job is not None]
        if code is ErrorCode.NONE:
            for job in jobs:
                job.deadline = session.sent_at + session.lock_s
        elif code in MOVED:
            self._moved(session, partition)
        elif code.retriable or code in MAY_PASS:
            session.retry_at = now + RETRY_S  # the next look at the locks tries again
        elif len(acks) > 1:
            session.renewals.add_halves(partition, acks)
        else:
            for job in jobs:
                job.extend_until = 0.0
                LOG.warning(
                    "the lock of the job at partition %d offset %d was not extended: %s",
                    partition, job.record.offset, error,
                )  # fmt: skip

    def _partition_failed(
        self, session: BrokerSession, partition: int, error: KafkaError, now: float
    ) -> None:
        if error.code in IN_VAIN:
            raise error
        session.retry_at = now + RETRY_S
        if error.code in MOVED:
            self._moved(session, partition)
        else:
            LOG.warning("partition %d of broker %d: %s", partition, session.node, error)

    def _moved(self, session: BrokerSession, partition: int) -> None:
        self.wants_metadata = True
        self._stock.lose(session.lose_partition(partition), "another broker leads its partition now.")
