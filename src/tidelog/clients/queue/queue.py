"""The queue for threads: `for job in jobs.take()`, and `jobs.work(handler)` for a whole worker process."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from tidelog.clients.queue.config import QueueConfig
from tidelog.clients.queue.engine import QueueEngine
from tidelog.clients.queue.held import HeldJob
from tidelog.clients.queue.job import Job
from tidelog.clients.queue.opening import QueueAddress, config_of
from tidelog.clients.queue.sending import with_schedule
from tidelog.clients.queue.workers import WorkerThreads, check_plain, check_workers
from tidelog.clients.records import Headers, Key, Receipt, Value
from tidelog.clients.serializers import Deserializer, bytes_deserializer, data_serializer

if TYPE_CHECKING:
    from tidelog.clients.producer.producer import Producer


class Queue(Generic[Key, Value]):
    """A topic as a queue: each job goes to one worker, which says what becomes of it.

    All queues with the same topic and group share the jobs, whatever the number of partitions. A job that its
    worker gives back, or loses by a crash, comes again, so that each is done at least once: a worker that
    dies between its work and the acknowledgement has done it, and another does it again. The first call that
    takes jobs joins the group; a queue that only sends does not. A queue may be used by many threads. It
    works with Tidelog, and with Apache Kafka 4.2 or later.

    Example:
        from tidelog import Queue

        with Queue("jobs", "localhost:9092") as jobs:
            jobs.send("resize cat.png").result()
            for job in jobs.take(timeout_ms=20_000, limit=1):
                try:
                    print(job.value)
                    job.done()
                except OSError:
                    job.retry(after=10)

    Args:
        topic: The topic.
        config: Brokers as text or as a list, a `QueueConfig`, or a dict of settings.
        key_serializer: Turns keys into bytes, for `send`. Without one, keys are bytes or str.
        value_serializer: Turns values into bytes, for `send`. Without one, values are bytes or str.
        key_deserializer: Turns the bytes of keys into objects. Without one, keys are bytes.
        value_deserializer: Turns the bytes of values into objects. Without one, values are bytes.
        settings: Fields of `QueueConfig`, such as `prefetch=1`; they go before those in `config`.

    Attributes:
        topic: The topic.
        config: The `QueueConfig`.
    """

    @overload
    def __init__(
        self: "Queue[bytes, bytes]",
        topic: str,
        config: QueueAddress,
        *,
        key_serializer: Callable[[Any], bytes] = ...,
        value_serializer: Callable[[Any], bytes] = ...,
        **settings: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: "Queue[bytes, Value]",
        topic: str,
        config: QueueAddress,
        *,
        key_serializer: Callable[[Any], bytes] = ...,
        value_serializer: Callable[[Any], bytes] = ...,
        value_deserializer: Deserializer[Value],
        **settings: Any,
    ) -> None: ...
    @overload
    def __init__(
        self,
        topic: str,
        config: QueueAddress,
        *,
        key_serializer: Callable[[Any], bytes] = ...,
        value_serializer: Callable[[Any], bytes] = ...,
        key_deserializer: Deserializer[Key],
        value_deserializer: Deserializer[Value],
        **settings: Any,
    ) -> None: ...
    def __init__(
        self,
        topic: str,
        config: QueueAddress,
        *,
        key_serializer: Callable[[Any], bytes] = data_serializer,
        value_serializer: Callable[[Any], bytes] = data_serializer,
        key_deserializer: Callable[[bytes], Any] = bytes_deserializer,
        value_deserializer: Callable[[bytes], Any] = bytes_deserializer,
        **settings: Any,
    ) -> None:
        self.topic = topic
        self.config: QueueConfig = config_of(config, settings)
        self._serializers = key_serializer, value_serializer
        self._deserializers = key_deserializer, value_deserializer
        self._engine = QueueEngine(topic, self.config)
        self._producer: Producer[Any, Any] | None = None
        self._producer_lock = threading.Lock()
        self._pools: list[WorkerThreads] = []

    # Sending

    def send(
        self,
        value: Any = None,
        *,
        key: Any = None,
        delay: float | timedelta | None = None,
        at: int | datetime | None = None,
        partition: int | None = None,
        headers: Headers | None = None,
    ) -> "Future[Receipt]":
        """Send a job; it is buffered, and the call returns at once, as with a `Producer`.

        Example:
            from tidelog import Queue

            with Queue("reminders", "localhost:9092") as reminders:
                reminders.send("call back", key="user-1", delay=3600).result()

        Args:
            value: What the value serializer takes; bytes or str without one.
            key: What the key serializer takes. Jobs of one key go to one partition; workers take them in no
                particular order.
            delay: Seconds, or a `timedelta`, for which no worker gets the job; 366 days at most.
            at: A `datetime`, or milliseconds since 1970, before which no worker gets the job. Only Tidelog
                brokers heed `delay` and `at`.
            partition: The partition, if the key is not to choose it.
            headers: Names and values, as a mapping or as pairs.

        Returns:
            A future of the `Receipt`. It fails with a `ProduceError` or another `ClientError`.

        Raises:
            SerializationError: The key, the value or a header cannot be made bytes.
            UsageError: Both `delay` and `at` are given, or one of them is no time to wait for.
        """
        scheduled = with_schedule(headers, delay, at)
        return self._sender().send(self.topic, value, key=key, partition=partition, headers=scheduled)

    def _sender(self) -> "Producer[Any, Any]":
        with self._producer_lock:
            if self._producer is None:
                from tidelog.clients.producer.config import ProducerConfig
                from tidelog.clients.producer.producer import Producer

                key_serializer, value_serializer = self._serializers
                self._engine.check_open()
                self._producer = Producer(
                    ProducerConfig(**self.config.for_producer()),
                    key_serializer=key_serializer,
                    value_serializer=value_serializer,
                )
            return self._producer

    # Taking

    def take(self, *, timeout_ms: int | None = None, limit: int | None = None) -> Iterator[Job[Key, Value]]:
        """Jobs one by one, as they come. Several threads may take at once, and each gets other jobs.

        Args:
            timeout_ms: End when no job came for this long. None: wait for ever.
            limit: End after this number of jobs. None: without an end.

        Raises:
            UnknownTopic: There is no such topic.
            UnsupportedByBroker: The brokers have no share groups, or these are switched off.
            AuthorizationFailed: The client may not read the topic or the group.
            ConnectionFailed: No broker was reached within `request_timeout_ms`, and none ever before.
        """
        taken = 0
        while limit is None or taken < limit:
            job = self.get(timeout_ms)
            if job is None:
                return
            taken += 1
            yield job

    def get(self, timeout_ms: int | None = 0) -> Job[Key, Value] | None:
        """The next job, or None if none comes in time.

        Args:
            timeout_ms: How long to wait. A second at least if the application had no job and took none
                for five seconds, as nothing is fetched for it then; the first call joins the group, too.
                None: for ever.

        Raises:
            UnknownTopic: There is no such topic. The errors of `take` are possible, too.
        """
        held = self._engine.take(None if timeout_ms is None else timeout_ms / 1000)
        return None if held is None else self._job(held)

    def _job(self, held: HeldJob) -> Job[Key, Value]:
        return Job(self._engine, held, *self._deserializers)

    def work(
        self,
        handler: Callable[[Job[Key, Value]], object],
        *,
        workers: int = 8,
        timeout_ms: int | None = None,
        grace_ms: int = 30_000,
    ) -> None:
        """Let threads handle jobs until SIGTERM, SIGINT or `stop`, and return when they have ended.

        A job is done when the handler returns, unless the handler has called `retry` or `fail`. When it
        raises, the error is logged, and the job is tried again. On a signal no further job is begun, and
        those that are under way are finished. Signals are heeded in the main thread only.

        Example:
            from tidelog import Queue

            def handle(job):
                print(job.value)

            with Queue("pictures", "localhost:9092", prefetch=20) as pictures:
                pictures.send("cat.png").result()
                pictures.work(handle, workers=4, timeout_ms=5_000)

        Args:
            handler: Called with each job.
            workers: The number of threads. `prefetch` should be as large at least.
            timeout_ms: End when no job came for this long. None: wait for ever.
            grace_ms: How long to wait for the handlers at the end. Jobs whose handler runs longer are given
                back when the queue is closed.

        Raises:
            UsageError: `workers` is less than 1, or the handler is a coroutine function.
            UnknownTopic: There is no such topic. The errors of `take` are possible, too.
        """
        check_workers(workers)
        check_plain(handler)
        timeout_s = None if timeout_ms is None else timeout_ms / 1000
        pool = WorkerThreads(self._engine, self._job, handler, timeout_s)
        self._pools.append(pool)
        try:
            pool.run(workers, grace_ms / 1000)
        finally:
            self._pools.remove(pool)

    def stop(self) -> None:
        """Let `work` return, as on SIGTERM. It may be called from any thread."""
        for pool in list(self._pools):
            pool.stop()

    # Confirming

    def flush(self, *jobs: Job[Key, Value], timeout_ms: int = 30_000) -> None:
        """Wait until the brokers have answered the acknowledgements of all jobs, or of these.

        Acknowledgements go out in batches, some milliseconds after `done`, `retry` and `fail`. Refused ones
        are logged, too.

        Args:
            jobs: Acknowledged jobs; all, if none is given.
            timeout_ms: How long to wait.

        Raises:
            JobLost: Jobs went to other workers before their acknowledgement arrived.
            RequestTimedOut: There is no answer yet.
        """
        self._engine.flush([job.held for job in jobs], timeout_ms / 1000)

    # Ending

    def close(self) -> None:
        """Send what is buffered, acknowledge, give back all other jobs, and leave the group."""
        self.stop()
        with self._producer_lock:
            producer, self._producer = self._producer, None
        try:
            if producer is not None:
                producer.close()
        finally:
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
