"""A job as the application has it: a record to work on, and the four things that can become of it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Generic, Self, cast

from tidelog.clients.errors import JobLost, UsageError
from tidelog.clients.queue.acknowledgements import GROUP_BACKOFF
from tidelog.clients.queue.engine import QueueEngine
from tidelog.clients.queue.held import HeldJob, JobState
from tidelog.clients.records import Key, Message, TimestampType, TopicPartition, Value
from tidelog.clients.schemas.confluent import own_deserializer
from tidelog.clients.serializers import deserialize
from tidelog.shares.partition.limits import DELAY_MS_MAX
from tidelog.shares.states import AckType

_MISSING = object()


class Job(Generic[Key, Value]):
    """A job that this worker holds, until it says what becomes of it.

    `done`, `retry` and `fail` return at once; `Queue.flush` waits for the broker's answer. Without any of
    them the job goes to another worker when its lock ends. As a `with` block a job is done when the block
    ends, and released for another attempt when the block raises; the exception goes on.

    Example:
        from tidelog import Job, Queue

        def print_report(job: Job):
            with job:
                print(job.value, job.delivery_count)

        with Queue("reports", "localhost:9092") as reports:
            reports.send("monthly", key="acme").result()
            for job in reports.take(timeout_ms=20_000, limit=1):
                print_report(job)

    Attributes:
        topic: The topic.
        partition: The partition.
        offset: The offset in that partition.
        delivery_count: How often the job was handed to a worker, this time included.
        headers: Names and values in the order in which they were sent.
    """

    __slots__ = ("_engine", "_held", "_key", "_key_deserializer", "_value", "_value_deserializer")

    def __init__(
        self,
        engine: QueueEngine,
        held: HeldJob,
        key_deserializer: Callable[[bytes], Key],
        value_deserializer: Callable[[bytes], Value],
    ) -> None:
        self._engine = engine
        self._held = held
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._key: object = _MISSING
        self._value: object = _MISSING

    # What it is

    @property
    def topic(self) -> str:
        """The topic."""
        return self._engine.topic

    @property
    def partition(self) -> int:
        """The partition."""
        return self._held.partition

    @property
    def offset(self) -> int:
        """The offset in that partition."""
        return self._held.record.offset

    @property
    def timestamp(self) -> int:
        """When it was sent, in milliseconds since 1970."""
        return self._held.record.timestamp

    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """Names and values in the order in which they were sent."""
        return tuple(self._held.record.headers)

    @property
    def delivery_count(self) -> int:
        """How often the job was handed to a worker, this time included."""
        return self._held.delivery_count

    @property
    def key(self) -> Key | None:
        """The key, as the key deserializer made it; None where it has none.

        Raises:
            DeserializationError: It cannot be read.
        """
        if self._key is _MISSING:
            self._key = self._read(self._key_deserializer, self._held.record.key, "key")
        return cast("Key | None", self._key)

    @property
    def value(self) -> Value | None:
        """The value, as the value deserializer made it; None where it has none.

        Raises:
            DeserializationError: It cannot be read.
        """
        if self._value is _MISSING:
            self._value = self._read(self._value_deserializer, self._held.record.value, "value")
        return cast("Value | None", self._value)

    @property
    def message(self) -> Message[Key, Value]:
        """The record as a consumer has it, for `consumer_span` and other code for consumers."""
        by_append_time = self._held.is_log_append_time
        return Message(
            self.topic,
            self.partition,
            self.offset,
            self.timestamp,
            TimestampType.LOG_APPEND_TIME if by_append_time else TimestampType.CREATE_TIME,
            self.key,
            self.value,
            self.headers,
            None,
        )

    # How it stands

    @property
    def deadline(self) -> datetime:
        """When the lock ends, as far as it is extended now."""
        return datetime.now(UTC) + timedelta(seconds=self._held.deadline - time.monotonic())

    @property
    def is_lost(self) -> bool:
        """Whether another worker gets the job, or has got it: its lock or its connection ended."""
        held = self._held
        is_late = held.state is JobState.HELD and time.monotonic() >= held.deadline
        return is_late or held.state is JobState.LOST

    # What becomes of it

    def done(self) -> None:
        """The work is done: the job never comes again.

        Raises:
            JobLost: Another worker gets it, or has got it.
        """
        self._engine.acknowledge(self._held, AckType.ACCEPT)

    def retry(self, after: float | timedelta | None = None) -> None:
        """Give the job back: a worker gets it again, until the group's limit of deliveries is reached.

        Args:
            after: Seconds, or a `timedelta`, to wait before that. None: what the group's settings say,
                which is at once unless the group has a backoff. Only Tidelog brokers have delays.

        Raises:
            JobLost: Another worker gets it, or has got it.
            UnsupportedByBroker: There is a delay, and the brokers are Apache Kafka.
        """
        delay_ms = GROUP_BACKOFF if after is None else milliseconds_of(after, "after")
        self._engine.acknowledge(self._held, AckType.RELEASE, delay_ms)

    def fail(self) -> None:
        """The work cannot be done: the job goes to the dead-letter topic, if the group has one, or ends.

        Raises:
            JobLost: Another worker gets it, or has got it.
        """
        self._engine.acknowledge(self._held, AckType.REJECT)

    def extend(self) -> None:
        """Extend the lock to its whole duration from now on. `auto_extend_ms` does it without a call.

        Raises:
            JobLost: Another worker gets it, or has got it.
            UnsupportedByBroker: The brokers are Apache Kafka before 4.2.
        """
        self._engine.extend(self._held)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held.state not in (JobState.HELD, JobState.LOST):
            return  # the block has said what becomes of it
        if kind is None:
            self.done()
            return
        try:
            self.retry()
        except JobLost:
            pass  # what went wrong in the block matters more

    def __repr__(self) -> str:
        return f"<Job {self.topic}[{self.partition}] offset {self.offset}, delivery {self.delivery_count}>"

    @property
    def held(self) -> HeldJob:
        """The client's own side of the job, for `Queue.flush`."""
        return self._held

    def _read(self, deserializer: Callable[[bytes], Any], data: bytes | None, what: str) -> Any:
        record = self._held.record
        return deserialize(
            own_deserializer(deserializer),
            data,
            what,
            place=TopicPartition(self.topic, self.partition),
            offset=record.offset,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )


def milliseconds_of(duration: float | timedelta, name: str, most: int = DELAY_MS_MAX) -> int:
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    try:
        number = round(seconds * 1000)
    except (TypeError, ValueError, OverflowError):  # text, nan, infinity
        number = -1
    if not 0 <= number <= most:
        raise UsageError(
            f"{name}={duration!r} is not a time to wait.",
            cause=f"it is negative, longer than {most // 86_400_000} days, or no number.",
            attempt="pass seconds, or a timedelta.",
        )
    return number
