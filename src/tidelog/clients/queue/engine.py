"""A queue at work: threads that drive the core, and the lock that they share with the application.

The first call that takes jobs starts them: one thread is the member of the group, and one for each broker
that leads partitions fetches and acknowledges. All of the core is used under the lock, and nothing else is.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable

from tidelog.blocking.addresses import Address
from tidelog.blocking.settings import ClusterSettings
from tidelog.clients import last_call
from tidelog.clients.errors import (
    ClientClosed,
    ClientError,
    JobLost,
    RequestTimedOut,
    UnsupportedByBroker,
    UsageError,
)
from tidelog.clients.log import LOG
from tidelog.clients.queue.acknowledgements import GROUP_BACKOFF
from tidelog.clients.queue.broker_thread import BrokerThread
from tidelog.clients.queue.config import QueueConfig
from tidelog.clients.queue.core import QueueCore
from tidelog.clients.queue.failures import as_client_error
from tidelog.clients.queue.held import HeldJob, JobState
from tidelog.clients.queue.member_thread import MemberThread
from tidelog.shares.states import AckType

CLOSE_S = 10.0
LOOK_S = 1.0
"""Nothing was fetched for an application that was idle: any call of it waits for a look at the brokers, which
may be asked by turns."""


class QueueEngine:
    words = last_call.Words("a queue", "of its acknowledgements had no answer", "with Queue(...) as jobs:")

    def __init__(self, topic: str, config: QueueConfig) -> None:
        self.config = config
        self.settings: ClusterSettings = config.for_members()
        self.core = QueueCore(
            topic,
            config.group_id or topic,
            prefetch=config.prefetch,
            linger_s=config.ack_linger_ms / 1000,
            extend_s=config.auto_extend_ms / 1000,
        )
        self.lock = threading.Lock()
        self._jobs = threading.Condition(self.lock)
        """Jobs have come, or there will be none."""
        self._changed = threading.Condition(self.lock)
        """Acknowledgements were answered, or the queue failed."""
        self.error: ClientError | None = None
        self.is_closed = False
        self.addresses: dict[int, Address] = {}
        self._brokers: dict[int, BrokerThread] = {}
        self._member: MemberThread | None = None
        self._has_warned = False
        """Of more callers than `prefetch` has places."""
        self._pid = os.getpid()
        self.listener: Callable[[], None] | None = None
        """Called under the lock whenever something changed: for asyncio."""

    @property
    def topic(self) -> str:
        return self.core.topic

    # The application's side

    def start(self) -> None:
        """Join the group, once."""
        self._check_process()
        with self.lock:
            self._check_open()
            if self._member is None:
                last_call.OPEN.add(self)
                self._member = MemberThread(self)
                self._member.start()

    def take(self, timeout_s: float | None, is_stopped: Callable[[], bool] = lambda: False) -> HeldJob | None:
        """Waits for a job; None where none came in time, or the caller has been stopped."""
        self.start()
        with self._jobs:
            deadline = self._begin_taking(timeout_s)
            try:
                while not is_stopped():
                    job = self._hand_out()
                    if job is not None:
                        return job
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        return None
                    self._jobs.wait(left)
            finally:
                self.core.stock.end_taking(time.monotonic())
        return None

    def begin_taking(self, timeout_s: float | None) -> float | None:
        """A caller will use `take_now` until this time. It ends with `end_taking`."""
        with self.lock:
            return self._begin_taking(timeout_s)

    def end_taking(self) -> None:
        with self.lock:
            self.core.stock.end_taking(time.monotonic())

    def _begin_taking(self, timeout_s: float | None) -> float | None:
        now, stock = time.monotonic(), self.core.stock
        if stock.out >= stock.prefetch and not self._has_warned:
            self._has_warned = True
            LOG.warning(
                "%s: the application has %d jobs, as many as prefetch allows, and waits for another: "
                "call done(), retry() or fail() for each job; for more at once, raise prefetch",
                self.topic, stock.out,
            )  # fmt: skip
        if stock.begin_taking(now) and timeout_s is not None:
            timeout_s = max(timeout_s, LOOK_S)
        return None if timeout_s is None else now + timeout_s

    def check_open(self) -> None:
        with self.lock:
            self._check_open()

    def take_now(self) -> HeldJob | None:
        with self.lock:
            return self._hand_out()

    def _hand_out(self) -> HeldJob | None:
        self._check_open()
        stock = self.core.stock
        job = stock.hand_out(time.monotonic())
        if not stock.buffer:
            self._wake_brokers()
        return job

    def acknowledge(self, job: HeldJob, type: AckType, delay_ms: int = GROUP_BACKOFF) -> None:
        self._check_process()
        with self.lock:
            if job.state in (JobState.ACKNOWLEDGED, JobState.CONFIRMED):
                raise UsageError(
                    f"The job at {self._place(job)} is acknowledged already.",
                    cause="done(), retry() or fail() was called before.",
                    attempt="call one of them, once.",
                )
            session = job.session
            if delay_ms != GROUP_BACKOFF and not session.can_delay:
                raise UnsupportedByBroker(
                    "retry(after=...) needs Tidelog brokers.",
                    cause="the protocol of Apache Kafka has no delay for released records.",
                    attempt="call retry() without a delay.",
                )
            stock = self.core.stock
            if not stock.acknowledge(job, type, time.monotonic(), delay_ms):
                raise self._lost([job])
            if session.acks.count == 1 or not stock.buffer or 2 * stock.free >= stock.prefetch:
                self._wake_broker(session.node)

    def extend(self, job: HeldJob) -> None:
        self._check_process()
        with self.lock:
            if not job.session.can_renew:
                raise UnsupportedByBroker(
                    "extend() needs Tidelog brokers, or Apache Kafka 4.2 or later.",
                    cause="the broker's version of ShareAcknowledge cannot extend locks (KIP-1222).",
                    attempt="give the group longer locks: share.record.lock.duration.ms.",
                )
            if not self.core.stock.extend(job, time.monotonic()):
                raise self._lost([job])
            self._wake_broker(job.session.node)

    def begin_flush(self, jobs: Iterable[HeldJob]) -> list[HeldJob]:
        """Send acknowledgements now. Returns the jobs to wait for; all, where none is named."""
        self._check_process()
        with self.lock:
            stock = self.core.stock
            awaited = list(jobs) or [*stock.unanswered, *stock.refused]
            stock.refused.clear()
            for session in stock.sessions.values():
                session.acks.is_urgent = bool(session.acks.count)
            self._wake_brokers()
            return awaited

    def is_flushed(self, jobs: Iterable[HeldJob]) -> bool:
        """Under the lock. Raises JobLost where the broker refused an acknowledgement."""
        if any(job.state is JobState.ACKNOWLEDGED for job in jobs):
            if self.error is not None:
                raise self.error
            return False
        lost = [job for job in jobs if job.state is JobState.LOST]
        if lost:
            raise self._lost(lost)
        return True

    def flush(self, jobs: Iterable[HeldJob], timeout_s: float) -> None:
        awaited = self.begin_flush(jobs)
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not self.is_flushed(awaited):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise not_answered(awaited, timeout_s)
                self._changed.wait(left)

    def wake(self) -> None:
        """Let callers that wait look again, since one of them was stopped."""
        with self.lock:
            self._jobs.notify_all()
            self._notify()

    @property
    def unacknowledged(self) -> int:
        """Jobs whose acknowledgement has no answer."""
        return len(self.core.stock.unanswered)

    def close(self, timeout_s: float | None = CLOSE_S) -> None:
        """Send acknowledgements, release the other jobs, and leave the group. May be repeated."""
        if os.getpid() != self._pid:
            return  # it is the parent's, and so may the lock be
        last_call.OPEN.discard(self)
        with self.lock:
            self.is_closed = self.core.is_closing = True
            self._wake_brokers()
            self._notify()
            member = self._member
        if member is not None and member.thread is not threading.current_thread():
            member.wake()
            member.thread.join(timeout_s)

    # The threads' side

    def fail(self, error: Exception) -> None:
        """End the queue: callers get the error."""
        described = as_client_error(error, self.topic, self.core.membership.group_id, self.settings)
        with self.lock:
            if self.error is None:
                self.error = described
            self.core.is_closing = True
            self._wake_brokers()
            self._notify()

    def begin_threads(self) -> None:
        """Under the lock: one thread for each broker with a session."""
        for node in self.core.sessions:
            if node not in self._brokers and node in self.addresses:
                self._brokers[node] = BrokerThread(self, node)
                self._brokers[node].start()

    def ended(self, node: int) -> None:
        """Under the lock: the thread of this broker has ended its session."""
        self._brokers.pop(node, None)
        self._notify()

    def answered(self) -> None:
        """Under the lock: the core has read an answer."""
        if len(self._brokers) > 1:
            self._wake_brokers()
        if self.core.answers.wants_metadata and self._member is not None:
            self._member.notify()
        self._notify()

    def end_brokers(self, timeout_s: float) -> None:
        """Wait until every thread has ended its session."""
        with self.lock:
            threads = list(self._brokers.values())
            self._wake_brokers()
        deadline = time.monotonic() + timeout_s
        for each in threads:
            each.thread.join(max(0.0, deadline - time.monotonic()))

    def _notify(self) -> None:
        if self.is_closed or self.error is not None:
            self._jobs.notify_all()
        else:  # no more than there are jobs: each caller that wakes in vain costs the others time
            self._jobs.notify(len(self.core.stock.buffer))
        self._changed.notify_all()
        if self.listener is not None:
            self.listener()

    def _wake_broker(self, node: int) -> None:
        broker = self._brokers.get(node)
        if broker is not None:
            broker.wake.notify()

    def _wake_brokers(self) -> None:
        for broker in self._brokers.values():
            broker.wake.notify()

    def _check_process(self) -> None:
        """Before the lock is taken: a thread that the child does not have may hold it."""
        if os.getpid() != self._pid:
            raise UsageError(
                "This queue was made before the process forked.",
                cause="threads and connections do not survive a fork.",
                attempt="make the queue in the process that uses it.",
            )

    def _check_open(self) -> None:
        if self.error is not None:
            raise self.error
        if self.is_closed:
            raise ClientClosed("The queue is closed.")

    def _place(self, job: HeldJob) -> str:
        return f"{self.topic}[{job.partition}] offset {job.record.offset}"

    def _lost(self, jobs: list[HeldJob]) -> JobLost:
        first = jobs[0]
        more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        return JobLost(
            f"This worker has lost the job at {self._place(first)}{more}: {first.loss}",
            offsets=[(job.partition, job.record.offset) for job in jobs],
        )


def not_answered(jobs: list[HeldJob], timeout_s: float) -> RequestTimedOut:
    waiting = sum(job.state is JobState.ACKNOWLEDGED for job in jobs)
    return RequestTimedOut(
        f"{waiting} acknowledgements were not answered within {timeout_s:g} s.",
        attempt="flush again; jobs whose acknowledgement is not answered may come again.",
        retriable=True,
    )
