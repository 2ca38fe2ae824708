"""Fetch: batches from the log to the socket untouched, now or once enough has arrived.

Consumers and followers use the same request; those of followers go on to `replica_fetch`.
A consumer may read from a follower, too, as far as that knows what is committed (KIP-392). A broker that lost
records to damage reads all that any replica has, the leader or not.

Permission is asked again with every pass over the partitions, also with the one at the end of a wait:
records that came after a permission was revoked are not delivered. A session remembers for which partitions
the answer was yes, until the authorizer's version changes.
"""

from collections.abc import Awaitable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ANY_REPLICA, NO_EPOCH, NodeId, Offset
from tidelog.broker.handlers.records.permissions import name_of
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.delayed_fetch import DelayedFetch
from tidelog.broker.requests.fetch_pass import FetchPass, by_topic
from tidelog.broker.requests.fetch_sessions import FetchPlan, ReadPermit, Wanted
from tidelog.broker.requests.readable import READABLE_SECONDS
from tidelog.replication import refusals
from tidelog.replication.partition import Partition
from tidelog.replication.preferred_replica import preferred_replica
from tidelog.replication.read_limit import LOG_END, READ_COMMITTED, limit_of_consumer
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

FOLLOWERS_SINCE = 11
LEADERS_SINCE = 16
RACK_AWARE = "RackAwareReplicaSelector"
MOVED = {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}
WAIT_MS_MAX = 5 * 60_000  # a client that wants to wait longer asks again


def handle(context: Context, request: FetchRequest) -> FetchResponse | Awaitable[FetchResponse]:
    state = request.replica_state
    replica_id = request.replica_id if state is None else state.replica_id
    is_broker = replica_id >= 0 or replica_id == ANY_REPLICA
    if is_broker and not context.comes_from_broker():
        return FetchResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    if is_broker:
        context.charge = None  # replication has throttles of its own
    if replica_id >= 0:
        broker_epoch = NO_EPOCH if state is None else state.replica_epoch
        is_allowed = None if context.services.authorizer is None else context.comes_from_broker
        return context.services.replication.fetches.handle(
            request, context.version, replica_id, broker_epoch, is_allowed
        )
    try:
        plan = context.services.sessions.plan(request, context.version, context.connection.principal)
    except KafkaError as error:
        return FetchResponse(error_code=error.code)
    job = FetchJob(context, request, plan, reads_all=replica_id == ANY_REPLICA)
    reading = job.read()
    min_bytes = request.min_bytes if context.charge is None else min(request.min_bytes, job.bytes_max)
    missing = min_bytes - reading.bytes_read
    if missing <= 0 or reading.must_answer or request.max_wait_ms <= 0 or not plan.wanted:
        if reading.bytes_read or reading.must_answer or not job.is_short_of_a_sync:
            return job.respond(reading)
        wait_ms = int(READABLE_SECONDS * 1000)
        return DelayedFetch(job.partitions, 1, wait_ms, answer=lambda: job.respond(job.read())).future
    return DelayedFetch(
        job.partitions,
        missing,
        min(request.max_wait_ms, WAIT_MS_MAX),
        answer=lambda: job.respond(job.read()),
        # New records may belong to open transactions: then the reader waits on.
        missing_now=(lambda: job.missing(min_bytes)) if job.read_committed else None,
    ).future


class FetchJob:
    """One fetch request: reads the log on arrival, and once more when its wait is over."""

    __slots__ = (
        "_context",
        "_find",
        "_leaders",
        "_limit",
        "_permit",
        "_plan",
        "_rack",
        "bytes_max",
        "partitions",
        "read_committed",
    )

    def __init__(
        self, context: Context, request: FetchRequest, plan: FetchPlan, *, reads_all: bool = False
    ) -> None:
        services = context.services
        self._context = context
        self._rack = request.rack_id
        self._plan = plan
        self.bytes_max = min(request.max_bytes, services.config.int("fetch.max.bytes"))
        if context.charge is not None and (of_quota := context.charge.fetched_bytes_max) is not None:
            # A byte at least: a fetch that waits for none would be answered at once, again and again.
            self.bytes_max = min(self.bytes_max, max(1, int(of_quota)))
        self._permit: ReadPermit | None = None
        self.read_committed = request.isolation_level == READ_COMMITTED
        self._limit = LOG_END if reads_all else limit_of_consumer(request.isolation_level)
        # Older consumers cannot be sent to a follower, so a follower refuses them.
        reads_followers = context.version >= FOLLOWERS_SINCE
        self._find = services.partitions.find_any if reads_followers else services.partitions.find
        self._leaders: dict[NodeId, None] = {}  # named in the answer, whose endpoints go with it
        self.partitions: list[Partition] = []

    def read(self) -> FetchPass[Wanted]:
        self.partitions = []
        authorizer = self._context.services.authorizer
        if authorizer is not None and self._limit is not LOG_END:
            connection = self._context.connection
            self._permit = self._plan.permit(connection.principal, connection.host, authorizer.version)
        reading: FetchPass[Wanted] = FetchPass(self.bytes_max, self._limit)
        reading.run(self._plan.wanted, self._read_one, self._refusal)
        return reading

    def _read_one(self, wanted: Wanted, reading: FetchPass[Wanted]) -> PartitionData:
        asked = wanted.request
        if wanted.permit is not self._permit:
            self._check_read(wanted)
        answer = PartitionData(partition_index=asked.partition, high_watermark=-1, records=b"")
        if self.read_committed:
            answer.aborted_transactions = []
        partition = self._find(wanted.topic, asked.partition)
        partition.check_epoch(asked.current_leader_epoch)
        log, offset = partition.log, asked.fetch_offset
        if log.lost is not None:
            raise refusals.lost_records(partition)  # another replica may have the missing records
        fork = None
        if partition.is_leader or self._limit is LOG_END:
            fork = partition.divergence(asked.last_fetched_epoch, offset)
        else:
            _check_follower(partition, offset)
        answer.high_watermark = partition.high_watermark
        answer.last_stable_offset = partition.last_stable_offset
        answer.log_start_offset = log.start
        if fork is not None:
            answer.diverging_epoch = EpochEndOffset(epoch=fork[0], end_offset=fork[1])
            reading.must_answer = True
        elif self._rack and (closer := self._closer_replica(partition, offset)) is not None:
            answer.preferred_read_replica = closer
            reading.must_answer = True
        else:
            end = partition.readable_end(self._limit)
            read = reading.read(partition, asked, end, answer)
            if read is not None and self.read_committed:
                answer.aborted_transactions = [
                    AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
                    for producer_id, first_offset in log.producer_state.aborted_in(read, offset, end)
                ]
        self.partitions.append(partition)
        return answer

    def _check_read(self, wanted: Wanted) -> None:
        """Before the topic is looked up: a client without permission does not learn whether it exists."""
        name = name_of(self._context, wanted.topic)
        if name is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if not self._context.allows(Operation.READ, ResourceType.TOPIC, name):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        wanted.permit = self._permit

    def _closer_replica(self, partition: Partition, offset: Offset) -> NodeId | None:
        services = self._context.services
        selector = services.config.optional_text("replica.selector.class")
        if selector is None or not selector.endswith(RACK_AWARE):
            return None
        brokers, listener = services.metadata.image.brokers, self._context.connection.listener

        def rack_of(node: NodeId) -> str | None:
            broker = brokers.get(node)
            reachable = broker is not None and not broker.fenced and listener in broker.endpoints
            return broker.rack if broker is not None and reachable else None

        return preferred_replica(partition, offset, self._rack, rack_of)

    def _refusal(self, wanted: Wanted, error: KafkaError) -> PartitionData:
        index = wanted.request.partition
        answer = PartitionData(
            partition_index=index,
            error_code=error.code,
            high_watermark=-1,
            aborted_transactions=[],
            records=b"",
        )
        if error.code in MOVED and self._context.version >= LEADERS_SINCE:
            image, topic = self._context.services.metadata.image, wanted.topic
            image_of_topic = image.topic(topic) if isinstance(topic, str) else image.topic_by_id(topic)
            partition = image_of_topic.partition(index) if image_of_topic is not None else None
            if partition is not None and partition.leader >= 0:
                answer.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leader, leader_epoch=partition.leader_epoch
                )
                self._leaders[partition.leader] = None
        return answer

    @property
    def is_short_of_a_sync(self) -> bool:
        """Nothing can be read yet, but records are written and wait for a sync."""
        return any(partition.written_end > partition.high_watermark for partition in self.partitions)

    def missing(self, min_bytes: int) -> int:
        """Returns how many more bytes must be readable before the response."""
        reading = self.read()
        return 0 if reading.must_answer else min_bytes - reading.bytes_read

    def respond(self, reading: FetchPass[Wanted]) -> FetchResponse:
        charge = self._context.charge
        if charge is not None and reading.bytes_read and not charge.fetched(reading.bytes_read):
            # Without records, as in Kafka: the consumer asks for them again after its pause.
            return FetchResponse(session_id=self._context.services.sessions.put_off(self._plan))
        if self._limit is LOG_END:
            self._context.services.replication.fetches.sent_bytes += reading.bytes_read
        else:
            for traffic, size in reading.reads:
                traffic.sent_bytes += size
        topics = by_topic(self._plan.trim(reading.answers))
        response = FetchResponse(session_id=self._plan.session_id, responses=topics)
        if self._leaders:
            response.node_endpoints = self._where_leaders_are()
        return response

    def _where_leaders_are(self) -> list[NodeEndpoint]:
        """The endpoints of the leaders in the answer: clients need no metadata request first (KIP-951)."""
        reachable = self._context.services.metadata.reachable_brokers(self._context.connection.listener)
        return [
            NodeEndpoint(node_id=broker.id, host=where.host, port=where.port, rack=broker.rack)
            for broker, where in reachable
            if broker.id in self._leaders
        ]


def _check_follower(partition: Partition, offset: Offset) -> None:
    """A follower that lags must not report a valid offset as out of range."""
    if offset > partition.log.end:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
    if offset < partition.log.start:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
