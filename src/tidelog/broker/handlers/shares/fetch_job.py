"""One ShareFetch: records of as many partitions as fit, at once or when there are some.

The acknowledgements of the request are applied before; its answer waits for both. Partitions are looked at in
the order of the session, in which the last one that delivered is last, so that none is starved.
"""

import asyncio

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.acknowledgements import Acknowledgements
from tidelog.broker.shares.delivery import Ask, Delivery, deliver
from tidelog.broker.shares.leaders import NamedLeaders
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.sessions import SharePartitionKey, SharePlan
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.shares.place import SharePlace
from tidelog.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

WAIT_MS_MAX = 5 * 60_000
ERRORS_MAX = 1_000
"""Partitions that one pass refuses, a few milliseconds of work: a session remembers any number of them, and
each short request would cost as much as the request that named them. The others come with later requests."""
RECORD_LIMIT = 1
"""The acquire mode of a client that wants no more than `max_records`."""

UNDERSTOOD = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.CORRUPT_MESSAGE,
    }
)
"""Errors of a partition that clients go on after; others, which Java's client would fail with, are answered
as UNKNOWN_SERVER_ERROR."""
AS_LEADER_CHANGE = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH})


class ShareFetchJob:
    __slots__ = (
        "_acks",
        "_answers",
        "_bytes_max",
        "_bytes_read",
        "_context",
        "_future",
        "_has_errors",
        "_is_fetched",
        "_plan",
        "_records_left",
        "_request",
        "_shares",
        "_timer",
        "_watched",
    )

    def __init__(
        self,
        context: Context,
        shares: SharePartitions,
        request: ShareFetchRequest,
        plan: SharePlan,
        acks: Acknowledgements,
    ) -> None:
        self._context = context
        self._shares = shares
        self._request = request
        self._plan = plan
        self._acks = acks
        self._answers: dict[SharePartitionKey, PartitionData] = {}
        self._records_left = request.max_records
        self._bytes_max = min(request.max_bytes, context.services.config.int("fetch.max.bytes"))
        if context.charge is not None and (of_quota := context.charge.fetched_bytes_max) is not None:
            self._bytes_max = min(self._bytes_max, max(1, int(of_quota)))
        self._bytes_read = 0
        self._has_errors = False
        self._is_fetched = False
        self._watched: list[LedShare] = []
        self._timer: asyncio.TimerHandle | None = None
        self._future: asyncio.Future[ShareFetchResponse] | None = None

    def start(self) -> "ShareFetchResponse | asyncio.Future[ShareFetchResponse]":
        request = self._request
        fetches = bool(self._plan.partitions) and request.max_records > 0 and request.max_bytes > 0
        if not fetches or self._is_over_quota():
            self._is_fetched = True
        else:
            self._read(request.min_bytes if request.max_wait_ms > 0 else 1)
            if request.max_wait_ms <= 0 or self._acks.has_errors:
                self._is_fetched = True
        if self._is_fetched and self._acks.is_complete:
            return self._respond()
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        if not self._acks.is_complete:
            self._acks.when_complete(self._acks_complete)
        if not self._is_fetched:
            self._watch()
            wait = min(request.max_wait_ms, WAIT_MS_MAX) / 1000
            self._timer = loop.call_later(wait, self._time_out)
        self._future.add_done_callback(self._unwatch)
        return self._future

    def _is_over_quota(self) -> bool:
        """A client beyond its quota gets no records, since acquired ones could not be given back."""
        charge = self._context.charge
        return charge is not None and not charge.fetched(0)

    # Waiting

    def _watch(self) -> None:
        group_id = self._plan.member.group_id
        for key in self._plan.partitions:
            try:
                led = self._shares.find(group_id, *key)
            except KafkaError:
                continue  # the next pass says why
            led.add(self)
            self._watched.append(led)

    def _unwatch(self, _: object = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for led in self._watched:
            led.remove(self)
        self._watched = []

    def look(self) -> None:
        """A share partition may have records."""
        if self._is_fetched or self._future is None or self._future.done():
            return
        try:
            self._read(self._request.min_bytes)
        except Exception as error:
            self._future.set_exception(error)
            return
        if self._is_fetched:
            self._fetched()

    def dropped(self, place: SharePlace, error: KafkaError) -> None:
        if not self._is_fetched:
            self._refuse((place.topic_id, place.partition), error)
            self._is_fetched = True
            self._fetched()

    def _time_out(self) -> None:
        self._timer = None
        if self._future is None or self._future.done() or self._is_fetched:
            return
        try:
            if self._request.min_bytes > 1:
                self._read(1)
        except Exception as error:
            self._future.set_exception(error)
            return
        self._is_fetched = True
        self._fetched()

    def _fetched(self) -> None:
        self._unwatch()
        if self._acks.is_complete:
            self._complete()

    def _acks_complete(self) -> None:
        if self._is_fetched or self._acks.has_errors:
            self._is_fetched = True
            self._complete()

    def _complete(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(self._respond())

    # Reading

    def _read(self, min_bytes: int) -> None:
        """One pass over the partitions. It completes the fetch if it brings records or an error."""
        connection_id = self._context.connection.connection_id
        if not self._shares.sessions.is_of(self._plan.member, connection_id):
            # The member began its session anew on another connection while this fetch waited: the records
            # of an answer that nobody reads would be locked for nothing.
            self._is_fetched = True
            return
        if min_bytes > 1 and not self._has_bytes(min_bytes):
            return
        now = self._shares.clock.monotonic()
        errors_left = ERRORS_MAX
        for key in self._plan.partitions:
            if self._records_left <= 0 or self._bytes_read >= self._bytes_max or not errors_left:
                break
            try:
                led = self._find(key)
                if led.is_loaded:
                    led.last_used = now
                    delivery = deliver(led, self._ask(led), now, self._shares.held_back)
                    if delivery is not None:
                        self._add(key, led, delivery)
            except KafkaError as error:
                self._refuse(key, error)
                self._shares.sessions.served(self._plan.member, key)
                errors_left -= 1
        if self._bytes_read or self._has_errors:
            self._is_fetched = True

    def _ask(self, led: LedShare) -> Ask:
        request = self._request
        return Ask(
            self._plan.member.member_id,
            self._records_left,
            self._bytes_max - self._bytes_read,
            request.share_acquire_mode == RECORD_LIMIT,
            request.batch_size,
            takes_large=not self._bytes_read,
            others_wait=len(led.waiters) > (self in led.waiters),
        )

    def _find(self, key: SharePartitionKey) -> LedShare:
        refusal = refusal_to_read(self._context, key[0])
        if refusal is not None:
            raise refusal
        return self._shares.find(self._plan.member.group_id, *key)

    def _has_bytes(self, min_bytes: int) -> bool:
        """Whether as much as the client wants at least may be read; errors count as enough."""
        missing = min(min_bytes, self._bytes_max)
        for key in self._plan.partitions:
            try:
                led = self._find(key)
                offset = led.share.next_offset() if led.is_loaded else None
                end = led.partition.readable_end(led.read_limit)
                if offset is None or offset >= end:
                    continue
                read = led.partition.log.read(max(offset, led.partition.log.start), self._bytes_max, end=end)
            except KafkaError:
                return True
            missing -= 0 if read is None else read.slice.length
            if missing <= 0:
                return True
        return False

    def _add(self, key: SharePartitionKey, led: LedShare, delivery: Delivery) -> None:
        self._records_left -= delivery.records_count
        tally = self._shares.tally
        tally.delivered += delivery.records_count
        for first, last, count in delivery.acquired:
            if count > 1:
                tally.redelivered += last - first + 1
        size = delivery.records.length
        self._bytes_read += size
        led.partition.traffic.sent_bytes += size
        self._shares.sessions.served(self._plan.member, key)
        self._answers[key] = PartitionData(
            partition_index=key[1],
            records=delivery.records,
            acquired_records=[
                AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
                for first, last, count in delivery.acquired
            ],
        )

    def _refuse(self, key: SharePartitionKey, error: KafkaError) -> None:
        self._has_errors = True
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER if error.code in AS_LEADER_CHANGE else error.code
        if code not in UNDERSTOOD:
            code = ErrorCode.UNKNOWN_SERVER_ERROR
        self._answers[key] = PartitionData(
            partition_index=key[1], error_code=code, error_message=error.message
        )

    # Answering

    def _respond(self) -> ShareFetchResponse:
        context = self._context
        if context.charge is not None and self._bytes_read:
            context.charge.delivered(self._bytes_read)
        for key, error in self._acks.errors.items():
            answer = self._answers.get(key)
            if answer is None:
                answer = self._answers[key] = PartitionData(partition_index=key[1])
            if error is not None:
                answer.acknowledge_error_code = error.code
                answer.acknowledge_error_message = error.message
        topics: dict[Uuid, ShareFetchableTopicResponse] = {}
        leaders = NamedLeaders(context.services.metadata)
        for key, answer in self._answers.items():
            topic = topics.get(key[0])
            if topic is None:
                topic = topics[key[0]] = ShareFetchableTopicResponse(topic_id=key[0])
            topic.partitions.append(answer)
            code = ErrorCode.of(answer.error_code or answer.acknowledge_error_code)
            if code and (leader := leaders.of(key, code)) is not None:
                answer.current_leader = LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
        return ShareFetchResponse(
            acquisition_lock_timeout_ms=self._shares.limits.lock_ms(self._plan.member.group_id),
            responses=list(topics.values()),
            node_endpoints=[
                NodeEndpoint(node_id=id, host=host, port=port, rack=rack)
                for id, host, port, rack in leaders.endpoints(context.connection.listener)
            ],
        )


def refusal_to_read(context: Context, topic_id: Uuid) -> KafkaError | None:
    """Before anything is looked up: a client without permission does not learn whether a topic exists."""
    if context.services.authorizer is None:
        return None
    topic = context.services.metadata.image.topic_by_id(topic_id)
    if topic is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    if not context.allows(Operation.READ, ResourceType.TOPIC, topic.name):
        return KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return None
