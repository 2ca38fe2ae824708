"""The queue for asyncio: `async for job in jobs.take()`. The protocol runs on threads below the loop."""

import asyncio
import contextlib
import inspect
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from tidelog.clients.errors import JobLost
from tidelog.clients.log import LOG
from tidelog.clients.queue.config import QueueConfig
from tidelog.clients.queue.engine import QueueEngine, not_answered
from tidelog.clients.queue.held import HeldJob, fate
from tidelog.clients.queue.idle import IdleTime
from tidelog.clients.queue.job import Job
from tidelog.clients.queue.opening import QueueAddress, config_of
from tidelog.clients.queue.sending import with_schedule
from tidelog.clients.queue.workers import STOP_SIGNALS, check_workers
from tidelog.clients.records import Headers, Key, Receipt, Value
from tidelog.clients.serializers import Deserializer, bytes_deserializer, data_serializer

if TYPE_CHECKING:
    from tidelog.clients.producer.async_producer import AsyncProducer


class LoopWaiters:
    """Coroutines that wait for jobs or answers; the threads below wake them through the loop."""

    def __init__(self, engine: QueueEngine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False
        engine.listener = self._changed

    def _changed(self) -> None:
        """On a thread of the engine, under its lock."""
        if not self._is_scheduled:
            self._is_scheduled = True
            # RuntimeError: the loop is closed, and no task waits any more.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.wake)

    def wake(self) -> None:
        self._is_scheduled = False  # first: what changes from here on is scheduled anew
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)

    async def wait(self, timeout_s: float | None) -> None:
        """Until something changed, or the time is over."""
        future = self._loop.create_future()
        self._waiting.append(future)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await future


class AsyncQueue(Generic[Key, Value]):
    """A topic as a queue, from asyncio: each job goes to one worker, which says what becomes of it.

    It is `Queue` with `await`, `async for` and `async with`; what a `Job` can do returns at once and needs no
    `await`. Make the queue where the loop runs, and use it on that loop only.

    Example:
        import asyncio

        from tidelog import AsyncQueue

        async def main():
            async with AsyncQueue("mails", "localhost:9092") as mails:
                await mails.send("Hello")
                async for job in mails.take(timeout_ms=20_000, limit=1):
                    with job:
                        print(job.value)

        asyncio.run(main())

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
        self: "AsyncQueue[bytes, bytes]",
        topic: str,
        config: QueueAddress,
        *,
        key_serializer: Callable[[Any], bytes] = ...,
        value_serializer: Callable[[Any], bytes] = ...,
        **settings: Any,
    ) -> None: ...
    @overload
    def __init__(
        self: "AsyncQueue[bytes, Value]",
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
        self._loop = asyncio.get_running_loop()
        self._engine = QueueEngine(topic, self.config)
        self._waiters = LoopWaiters(self._engine, self._loop)
        self._producer: AsyncProducer[Any, Any] | None = None
        self._is_stopped = asyncio.Event()

    # Sending

    async def send(
        self,
        value: Any = None,
        *,
        key: Any = None,
        delay: float | timedelta | None = None,
        at: int | datetime | None = None,
        partition: int | None = None,
        headers: Headers | None = None,
    ) -> Receipt:
        """Send a job, and wait for the broker's acknowledgement.

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
            The `Receipt`.

        Raises:
            ProduceError: It was not written; the subclass says why. Other `ClientError`s are possible too.
            UsageError: Both `delay` and `at` are given, or one of them is no time to wait for.
        """
        scheduled = with_schedule(headers, delay, at)
        return await self._sender().send(self.topic, value, key=key, partition=partition, headers=scheduled)

    def _sender(self) -> "AsyncProducer[Any, Any]":
        if self._producer is None:
            from tidelog.clients.producer.async_producer import AsyncProducer
            from tidelog.clients.producer.config import ProducerConfig

            key_serializer, value_serializer = self._serializers
            self._engine.check_open()
            self._producer = AsyncProducer(
                ProducerConfig(**self.config.for_producer()),
                key_serializer=key_serializer,
                value_serializer=value_serializer,
            )
        return self._producer

    # Taking

    async def take(
        self, *, timeout_ms: int | None = None, limit: int | None = None
    ) -> AsyncIterator[Job[Key, Value]]:
        """Jobs one by one, as they come. Several tasks may take at once, and each gets other jobs.

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
            job = await self.get(timeout_ms)
            if job is None:
                return
            taken += 1
            yield job

    async def get(self, timeout_ms: int | None = 0) -> Job[Key, Value] | None:
        """The next job, or None if none comes in time.

        Args:
            timeout_ms: How long to wait. A second at least if the application had no job and took none
                for five seconds, as nothing is fetched for it then; the first call joins the group, too.
                None: for ever.

        Raises:
            UnknownTopic: There is no such topic. The errors of `take` are possible, too.
        """
        held = await self._next(None if timeout_ms is None else timeout_ms / 1000, lambda: False)
        return None if held is None else self._job(held)

    async def _next(self, timeout_s: float | None, is_stopped: Callable[[], bool]) -> HeldJob | None:
        self._engine.start()
        deadline = self._engine.begin_taking(timeout_s)
        try:
            while not is_stopped():
                held = self._engine.take_now()
                if held is not None:
                    return held
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                await self._waiters.wait(left)
        finally:
            self._engine.end_taking()
        return None

    def _job(self, held: HeldJob) -> Job[Key, Value]:
        return Job(self._engine, held, *self._deserializers)

    async def work(
        self,
        handler: Callable[[Job[Key, Value]], Awaitable[object]],
        *,
        workers: int = 8,
        timeout_ms: int | None = None,
        grace_ms: int = 30_000,
    ) -> None:
        """Let tasks handle jobs until SIGTERM, SIGINT or `stop`, and return when they have ended.

        A job is done when the handler returns, unless the handler has called `retry` or `fail`. When it
        raises, the error is logged, and the job is tried again. On a signal no further job is begun, and
        those that are under way are finished. Signals are heeded in the main thread only.

        Args:
            handler: A coroutine function, called with each job.
            workers: The number of tasks. `prefetch` should be as large at least.
            timeout_ms: End when no job came for this long. None: wait for ever.
            grace_ms: How long to wait for the handlers at the end. Those that run longer are cancelled, and
                their jobs given back.

        Raises:
            UsageError: `workers` is less than 1.
            UnknownTopic: There is no such topic. The errors of `take` are possible, too.
        """
        check_workers(workers)
        self._is_stopped.clear()
        idle = IdleTime(None if timeout_ms is None else timeout_ms / 1000, self._loop.time())
        with self._signals():
            tasks = [
                asyncio.create_task(self._work(handler, idle), name=f"{self.topic}-worker-{number}")
                for number in range(workers)
            ]
            stopped = asyncio.create_task(self._is_stopped.wait())
            try:
                while not stopped.done() and (running := [task for task in tasks if not task.done()]):
                    await asyncio.wait([stopped, *running], return_when=asyncio.FIRST_COMPLETED)
                await asyncio.wait(tasks, timeout=grace_ms / 1000)
            finally:
                for task in (stopped, *tasks):
                    task.cancel()
                results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _work(self, handler: Callable[[Job[Key, Value]], Awaitable[object]], idle: IdleTime) -> None:
        try:
            while not self._is_stopped.is_set():
                held = await self._next(idle.left(self._loop.time()), self._is_stopped.is_set)
                if held is not None:
                    idle.busy(self._loop.time())
                    await self._handle(self._job(held), handler)
                    idle.busy(self._loop.time())
                elif idle.left(self._loop.time()) == 0:
                    return
        except Exception:
            self.stop()
            raise

    @staticmethod
    async def _handle(job: Job[Key, Value], handler: Callable[[Job[Key, Value]], Awaitable[object]]) -> None:
        """A handler that raises gives its job back; the queue goes on."""
        try:
            with job:
                outcome = handler(job)
                if inspect.isawaitable(outcome):  # a plain function has done its work
                    await outcome
        except JobLost as error:
            LOG.warning("%r: %s", job, error)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # the worker is cancelled, and not something that the handler waited for
            LOG.exception("%r: the handler failed, and the job %s", job, fate(job.held))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        added: list[signal.Signals] = []
        # Outside of the main thread, and on Windows, signals are the application's.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            for each in STOP_SIGNALS:
                self._loop.add_signal_handler(each, self.stop)
                added.append(each)
        try:
            yield
        finally:
            for each in added:
                self._loop.remove_signal_handler(each)

    def stop(self) -> None:
        """Let `work` return, as on SIGTERM."""
        self._is_stopped.set()
        self._waiters.wake()

    # Confirming

    async def flush(self, *jobs: Job[Key, Value], timeout_ms: int = 30_000) -> None:
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
        awaited = self._engine.begin_flush([job.held for job in jobs])
        deadline = self._loop.time() + timeout_ms / 1000
        while True:
            with self._engine.lock:
                if self._engine.is_flushed(awaited):
                    return
            left = deadline - self._loop.time()
            if left <= 0:
                raise not_answered(awaited, timeout_ms / 1000)
            await self._waiters.wait(left)

    # Ending

    async def close(self) -> None:
        """Send what is buffered, acknowledge, give back all other jobs, and leave the group."""
        self.stop()
        producer, self._producer = self._producer, None
        try:
            if producer is not None:
                await producer.close()
        finally:
            await asyncio.to_thread(self._engine.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
