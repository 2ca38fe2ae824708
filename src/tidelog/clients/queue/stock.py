"""All jobs that the client holds, without I/O: in its buffer, with the application, or acknowledged.

`prefetch` bounds them. A job leaves when the broker has answered its acknowledgement, or when it is lost.

Each delivery counts at the broker, also of a job that only waited in the buffer: after some, the group gives
up on it. So no more jobs are fetched ahead than the application has taken one after the other. One that takes
a job now and then, or is started for each, gets nothing that it does not take.
"""

from collections import deque
from collections.abc import Iterable
from itertools import islice
from math import inf

from tidelog.base.errors import KafkaError
from tidelog.clients.log import LOG
from tidelog.clients.queue.acknowledgements import GROUP_BACKOFF, PendingAck
from tidelog.clients.queue.delivered import DeliveredRecords
from tidelog.clients.queue.held import HeldJob, JobState
from tidelog.clients.queue.session import BrokerSession
from tidelog.shares.states import AckType

REFUSED_MAX = 1000
LOGGED_MAX = 3
IDLE_S = 5.0
"""An application that has no job and asks for none this long is not served from the buffer any more."""

LOCK_ENDED = "its lock ended before the acknowledgement."


class JobStock:
    def __init__(self, topic: str, prefetch: int, extend_s: float) -> None:
        self._topic = topic
        self.prefetch = prefetch
        self._extend_s = extend_s
        self.sessions: dict[int, BrokerSession] = {}
        self.buffer: deque[HeldJob] = deque()
        self.unanswered: dict[HeldJob, None] = {}
        """Acknowledged jobs whose acknowledgement has no answer yet."""
        self.refused: deque[HeldJob] = deque(maxlen=REFUSED_MAX)
        """Jobs that were lost after the application had acknowledged them."""
        self.takers = 0
        """Callers that wait for a job."""
        self.out = 0
        """Jobs that the application has."""
        self._busy_at = -inf
        """When a caller last waited, or the application last had a job."""
        self._in_a_row = 0
        """Jobs that the application has taken since it last was idle."""
        self._is_unmet = False
        """Whether calls come one after the other, and the last one found no job: there may be one for the
        next."""

    @property
    def free(self) -> int:
        return self.prefetch - sum(len(each.held) + each.reserved for each in self.sessions.values())

    @property
    def ahead(self) -> int:
        """How many jobs may wait in the buffer."""
        return min(self.prefetch, max(self.takers, self._in_a_row - 1, self._is_unmet))

    def room(self, now: float) -> int:
        """How many jobs to fetch. A caller does not wait for a broker that hangs: another may have jobs."""
        expected = sum(each.reserved for each in self.sessions.values() if now < each.late_at)
        return min(self.free, self.ahead - len(self.buffer) - expected)

    def is_wanted(self, now: float) -> bool:
        """Whether the application takes jobs: other workers are to get those that it leaves in the buffer."""
        self._note_whether_busy(now)
        return now < self._busy_at + IDLE_S

    def _note_whether_busy(self, now: float) -> None:
        if self.takers or self.out:
            self._busy_at = now

    def begin_taking(self, now: float) -> bool:
        """A caller waits for a job from now on. Returns whether the application was idle before."""
        was_idle = not self.is_wanted(now)
        if was_idle:
            self._in_a_row = 0
        self._is_unmet = not was_idle and not self.buffer
        self.takers += 1
        return was_idle

    def end_taking(self, now: float) -> None:
        self._note_whether_busy(now)
        self.takers -= 1

    def release_buffer(self, now: float) -> None:
        """Let other workers have the jobs that the application does not take."""
        while self.buffer:
            job = self.buffer.popleft()
            if job.state is JobState.HELD:
                self.acknowledge(job, AckType.RELEASE, now)

    def add(self, session: BrokerSession, partition: int, delivered: DeliveredRecords, now: float) -> None:
        deadline = now + session.lock_s
        for record, delivery_count, is_log_append_time in delivered.records:
            before = session.held.get((partition, record.offset))
            if before is not None:  # the broker gave it away, and this member got it again
                self.lose([before], LOCK_ENDED)
            job = HeldJob(session, partition, record, delivery_count, deadline)
            job.is_log_append_time = is_log_append_time
            session.held[partition, record.offset] = job
            self.buffer.append(job)
        for offset in delivered.gaps:
            session.acks.add(partition, PendingAck(offset, AckType.GAP), now)
        for offset in delivered.unreadable:
            session.acks.add(partition, PendingAck(offset, AckType.RELEASE), now)

    # The application's side

    def hand_out(self, now: float) -> HeldJob | None:
        while self.buffer:
            job = self.buffer.popleft()
            if job.state is not JobState.HELD:
                continue
            if now >= job.deadline:
                self.lose([job], LOCK_ENDED)
                continue
            job.is_out = True
            self.out += 1
            job.extend_until = now + self._extend_s
            self._in_a_row += 1
            self._is_unmet = False
            return job
        return None

    def acknowledge(self, job: HeldJob, type: AckType, now: float, delay_ms: int = GROUP_BACKOFF) -> bool:
        """Returns False where the job is lost."""
        if job.state is JobState.HELD and now >= job.deadline:
            self.lose([job], LOCK_ENDED)
        if job.state is JobState.LOST:
            return False
        self._note_whether_busy(now)
        job.state, job.fate = JobState.ACKNOWLEDGED, type
        self.unanswered[job] = None
        self.out -= job.is_out
        session, place = job.session, (job.partition, job.record.offset)
        session.held.pop(place, None)
        session.renewals.remove(*place)
        session.acks.add(job.partition, PendingAck(job.record.offset, type, delay_ms, job), now)
        return True

    def extend(self, job: HeldJob, now: float) -> bool:
        """Returns False where the job is lost."""
        if job.state is JobState.HELD and now >= job.deadline:
            self.lose([job], LOCK_ENDED)
        if job.state is JobState.LOST:
            return False
        job.session.renewals.add(job.partition, PendingAck(job.record.offset, AckType.RENEW, job=job), now)
        return True

    # Locks

    def look_through(self, session: BrokerSession, now: float) -> None:
        """Extend the locks that are half over, and lose the jobs whose lock has ended."""
        session.looked_at = now
        half = session.lock_s / 2
        ended = []
        for job in session.held.values():
            if now >= job.deadline:
                ended.append(job)
            elif (
                session.can_renew
                and now >= job.deadline - half
                # A job in the buffer has done nothing to lose a delivery: its lock is always extended.
                and (not job.is_out or now < job.extend_until)
            ):
                ack = PendingAck(job.record.offset, AckType.RENEW, job=job)
                session.renewals.add(job.partition, ack, now)
        self.lose(ended, LOCK_ENDED)

    def lose(self, jobs: Iterable[HeldJob], why: str) -> None:
        noteworthy = []
        for job in jobs:
            if job.state is JobState.ACKNOWLEDGED:
                self.refused.append(job)
                noteworthy.append(job)
            elif job.is_out and job.state is JobState.HELD:
                self.out -= 1
                noteworthy.append(job)
            self.unanswered.pop(job, None)
            place = (job.partition, job.record.offset)
            if job.session.held.get(place) is job:
                del job.session.held[place]
                job.session.renewals.remove(*place)
            job.state, job.loss = JobState.LOST, why
        for job in islice(noteworthy, LOGGED_MAX):
            LOG.warning(
                "job at %s[%d] offset %d is lost to another worker: %s",
                self._topic, job.partition, job.record.offset, why,
            )  # fmt: skip
        if len(noteworthy) > LOGGED_MAX:
            LOG.warning("%d more jobs of %s are lost: %s", len(noteworthy) - LOGGED_MAX, self._topic, why)

    # Answers

    def confirm(self, acks: Iterable[PendingAck]) -> None:
        for ack in acks:
            job = ack.job
            if job is not None and job.state is JobState.ACKNOWLEDGED:
                job.state = JobState.CONFIRMED
                del self.unanswered[job]

    def refuse(self, acks: Iterable[PendingAck], error: KafkaError) -> None:
        why = f"{error.message.rstrip('.')} ({error.code.name})."
        self.lose((ack.job for ack in acks if ack.job is not None), why)
