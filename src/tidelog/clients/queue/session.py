"""A share session with one broker, without I/O: its epochs, what it fetches, and the jobs it has brought.

A session has one request under way at a time, since the broker counts them. When the connection breaks or
the broker has forgotten the session, the broker releases its records: every job of the session is lost.
"""

from collections.abc import Iterable, Mapping

from tidelog.clients.queue.acknowledgements import AckQueue, PendingAck, runs
from tidelog.clients.queue.held import HeldJob
from tidelog.wire.messages import share_acknowledge, share_fetch
from tidelog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from tidelog.wire.messages.share_fetch import ShareFetchRequest

NEW, LAST = 0, -1
"""Epochs: of the request that begins a session, and of the request that ends it."""
EPOCH_MAX = 2**31 - 1
FETCH_BYTES_MAX = 16 << 20
RECORD_LIMIT = 1
"""The acquire mode in which a broker locks no more than `max_records`."""


class BrokerSession:
    def __init__(self, node: int, group_id: str, member_id: str) -> None:
        self.node = node
        self._group_id, self._member_id = group_id, member_id
        self.epoch = NEW
        self.topic_id = bytes(16)
        self.wanted: frozenset[int] = frozenset()
        """The partitions of this broker that the member is to read."""
        self._known: frozenset[int] = frozenset()
        """Those that the broker has in its session."""
        self.acks = AckQueue()
        self.renewals = AckQueue()
        self.under_way: dict[int, list[PendingAck]] = {}
        """The acknowledgements of the request that has no answer yet."""
        self.is_renewing = False
        """Whether that request extends locks."""
        self.reserved = 0
        """The records that the fetch under way may bring."""
        self.held: dict[tuple[int, int], HeldJob] = {}
        """By partition and offset."""
        self.lock_s = 30.0
        self.retry_at = 0.0
        self.failures = 0
        """In a row."""
        self.sent_at = 0.0
        self.late_at = 0.0
        """When the answer to the request under way is late."""
        self.fetched_at = 0.0
        self.dry_until = 0.0
        """The last fetch brought nothing: the next waits that long, if the buffer has jobs."""
        self.looked_at = 0.0
        """When the locks were last looked through."""
        self.is_ending = False
        """Whether the request under way is the last."""
        self.can_renew = self.can_delay = False
        """What the broker supports beyond Apache Kafka 4.1, and beyond Apache Kafka."""

    @property
    def is_open(self) -> bool:
        return self.epoch != NEW

    # Requests

    def fetch(self, records_max: int, wait_ms: int) -> ShareFetchRequest:
        is_new = self.epoch == NEW
        self.under_way = {} if is_new else self.acks.take()
        self.is_renewing, self.reserved = False, records_max
        named = [*self.under_way, *sorted(self.wanted - self._known - self.under_way.keys())]
        # A partition that is named only for its acknowledgements is not to be fetched from.
        gone = [] if is_new else sorted((self._known | self.under_way.keys()) - self.wanted)
        request = ShareFetchRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self.epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            max_records=records_max,
            batch_size=records_max,
            share_acquire_mode=RECORD_LIMIT,
            topics=[
                share_fetch.FetchTopic(
                    topic_id=self.topic_id,
                    partitions=[
                        share_fetch.FetchPartition(
                            partition_index=partition,
                            acknowledgement_batches=[
                                share_fetch.AcknowledgementBatch(
                                    first_offset=first,
                                    last_offset=last,
                                    acknowledge_types=types,
                                    delay_ms=delay_ms,
                                )
                                for first, last, types, delay_ms in runs(self.under_way.get(partition, ()))
                            ],
                        )
                        for partition in named
                    ],
                )
            ]
            if named
            else [],
            forgotten_topics_data=[share_fetch.ForgottenTopic(topic_id=self.topic_id, partitions=gone)]
            if gone
            else [],
        )
        self._known = self.wanted
        return request

    def acknowledge(self, *, renew: bool = False, is_last: bool = False) -> ShareAcknowledgeRequest:
        self.under_way = (self.renewals if renew else self.acks).take()
        self.is_renewing, self.reserved, self.is_ending = renew, 0, is_last
        return ShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=LAST if is_last else self.epoch,
            is_renew_ack=renew,
            topics=[
                share_acknowledge.AcknowledgeTopic(
                    topic_id=self.topic_id,
                    partitions=_acknowledged(self.under_way),
                )
            ]
            if self.under_way
            else [],
        )

    # Answers

    def advance(self) -> dict[int, list[PendingAck]]:
        """The broker has taken the request. Returns the acknowledgements that it answers."""
        self.epoch = 1 if self.epoch == EPOCH_MAX else self.epoch + 1
        return self._answered()

    def _answered(self) -> dict[int, list[PendingAck]]:
        answered, self.under_way = self.under_way, {}
        self.reserved = 0
        return answered

    def end(self) -> list[HeldJob]:
        """Returns the jobs that are lost with the session, acknowledged ones without an answer as well."""
        pending = [ack for acks in self._answered().values() for ack in acks]
        pending += self.acks.clear()
        self.renewals.clear()
        jobs = dict.fromkeys(self.held.values())
        jobs.update(dict.fromkeys(ack.job for ack in pending if ack.job is not None))
        self.held.clear()
        self.epoch, self._known = NEW, frozenset()
        self.is_ending = False
        return list(jobs)

    def lose_partition(self, partition: int) -> list[HeldJob]:
        """Returns the jobs that are lost, since another broker leads the partition."""
        lost = [job for (each, _), job in self.held.items() if each == partition]
        for job in lost:
            del self.held[partition, job.record.offset]
            self.renewals.remove(partition, job.record.offset)
        self.wanted -= {partition}
        return lost


def _acknowledged(acks: Mapping[int, Iterable[PendingAck]]) -> list[share_acknowledge.AcknowledgePartition]:
    return [
        share_acknowledge.AcknowledgePartition(
            partition_index=partition,
            acknowledgement_batches=[
                share_acknowledge.AcknowledgementBatch(
                    first_offset=first, last_offset=last, acknowledge_types=types, delay_ms=delay_ms
                )
                for first, last, types, delay_ms in runs(of_partition)
            ],
        )
        for partition, of_partition in acks.items()
    ]
