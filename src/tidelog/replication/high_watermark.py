"""The high watermark of one replica: the log below it is committed, and no failover takes it back.

It is the lowest end among the replicas that count: this one, as durable as the topic asks for, and each of
the limits. A leader's limits are the ends of its in-sync followers; a follower's only limit is the high
watermark that its leader sent. It moves up only, except where a follower truncates its log.
"""

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset
from tidelog.replication.acks_waiters import AcksWaiters, Done
from tidelog.replication.fetch_watchers import FetchWatchers
from tidelog.replication.follower_progress import Position
from tidelog.storage.producers.producers import Producers


class HighWatermark:
    __slots__ = ("_watchers", "acks", "limits", "offset", "replication")

    def __init__(self, offset: Offset, watchers: FetchWatchers) -> None:
        self.offset = offset
        self.limits: tuple[Position, ...] = (Position(offset),)
        self.acks = AcksWaiters()
        self.replication = AcksWaiters()
        """Readers, to whom it does not matter whether enough replicas are in sync to take more records."""
        self._watchers = watchers

    def advance(self, end: Offset, producers: Producers, too_few_in_sync: bool) -> None:
        """This replica has all below `end`: move as far as the limits allow, and notify the waiters."""
        for limit in self.limits:
            end = min(end, limit.end)
        if end <= self.offset:
            return
        if too_few_in_sync:
            # The controller relies on this (KIP-966): a replica that leaves the in-sync set while the set is
            # too small has all that consumers could read.
            self.replication.resolve(end)
            return
        self.offset = end
        if producers.ended:  # a follower gets no requests for the stable offset, so they are forgotten here
            producers.forget_ended(end)
        if self.acks.queue:
            self.acks.resolve(end)
        if self.replication.queue:
            self.replication.resolve(end)
        self._watchers.committed(end)

    def limits_reach(self, offset: Offset) -> bool:
        return all(offset <= limit.end for limit in self.limits)

    def lower(self, offset: Offset, log_end: Offset) -> None:
        """The log was truncated to `log_end`."""
        self.offset = offset
        self._watchers.truncated(log_end)

    def forget(self, done: Done) -> None:
        """The waiter gave up: its time is over, or its connection is gone."""
        self.acks.forget(done)
        self.replication.forget(done)

    def fail_all(self, error: KafkaError) -> None:
        self.acks.fail_all(error)
        self.replication.fail_all(error)
