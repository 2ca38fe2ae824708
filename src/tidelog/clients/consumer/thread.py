"""The thread that an asyncio consumer lives on: librdkafka's consumer is used here and nowhere else.

It fills the message queue, runs the calls that the loop sends, and serves the calls of coroutine listeners
while those run on the loop. It blocks in librdkafka only while the loop waits for messages and has sent no
other call.
"""

import asyncio
import inspect
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tidelog.clients.consumer.backpressure import Action, Backpressure, Step
from tidelog.clients.consumer.core import ConsumerCore
from tidelog.clients.consumer.message_queue import MessageQueue
from tidelog.clients.consumer.rebalance import AsyncPartitionsCallback, PartitionsCallback
from tidelog.clients.errors import ClientClosed
from tidelog.clients.log import LOG
from tidelog.clients.records import TopicPartition

AnswerT = TypeVar("AnswerT")

WAIT_FOR_MESSAGES_S = 0.1  # within librdkafka, which cannot be woken: the longest that a call may wait
TICK_S = 0.05  # between polls for messages without a waiting reader


class ConsumerThread:
    def __init__(self, core: ConsumerCore, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        self._loop = loop
        self._calls: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._lock = threading.Lock()
        self._is_over = False
        self._woken = threading.Event()
        self._stop: bool | None = None
        self.messages = MessageQueue(loop, self._woken.set)
        self._flow = Backpressure(core.config.buffer_records, core.config.max_poll_interval_ms / 1000)
        self._ended: Future[None] = Future()
        core.on_gone = self.messages.drop
        self._thread = threading.Thread(
            target=self._run, name=f"{core.config.client_id}-consumer", daemon=True
        )
        self._thread.start()

    # The loop's side

    async def call(self, function: Callable[[], AnswerT]) -> AnswerT:
        """Run a function on the thread."""
        answer: Future[AnswerT] = Future()
        with self._lock:
            if self._is_over:
                raise ClientClosed("The consumer is closed.")
            self._calls.append((function, answer))
        self._woken.set()
        return await asyncio.wrap_future(answer)

    async def stop(self, *, handled: bool) -> None:
        """Close the consumer and end the thread; raises what closing raised."""
        if self._stop is None:
            self._stop = handled
            self._woken.set()
        await asyncio.shield(asyncio.wrap_future(self._ended))

    def abandon(self) -> None:
        """The consumer was garbage-collected: end without waiting for it."""
        if self._stop is None:
            warnings.warn("a consumer was not closed; use `async with`", ResourceWarning, stacklevel=3)
            self._stop = False
            self._woken.set()

    def bridge(self, callback: AsyncPartitionsCallback | None) -> PartitionsCallback | None:
        """A listener that runs on the loop, and may await the consumer's own methods."""
        if callback is None:
            return None

        async def on_the_loop(places: list[TopicPartition]) -> None:
            outcome = callback(places)
            if inspect.isawaitable(outcome):
                await outcome

        def run(places: list[TopicPartition]) -> None:
            self._serve_until_done(asyncio.run_coroutine_threadsafe(on_the_loop(places), self._loop))

        return run

    # The thread's side

    def _run(self) -> None:
        try:
            while self._stop is None and not self._loop.is_closed():
                self._serve_calls()
                self._step(self._flow.next_step(len(self.messages), time.monotonic(), self.messages.taken_at))
        except RuntimeError:
            # The loop is closed: no reader is left for messages or errors.
            LOG.debug("the event loop of a consumer ended before it was closed", exc_info=True)
        self._end()

    def _step(self, step: Step) -> None:
        if step.action is Action.REST:
            self._rest()
            return
        try:
            if step.action is Action.HOLD:
                self._core.hold()
            elif step.action is Action.RELEASE:
                self._core.release()
            wanted = self.messages.is_wanted and not self._calls
            messages = self._core.take(WAIT_FOR_MESSAGES_S if wanted else 0, step.limit)
            if wanted and not messages:  # errors without a reader would pile up
                self._core.first_contact.check()
        except Exception as error:  # a listener may raise anything; the next reader gets it
            self.messages.put([error])
            return
        if messages:
            self.messages.put(messages)
        elif not self.messages.is_wanted:
            self._rest()

    def _rest(self) -> None:
        self._woken.wait(TICK_S)
        self._woken.clear()

    def _serve_calls(self) -> None:
        while self._calls:
            function, answer = self._calls.popleft()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(function())
            except Exception as error:  # the caller gets it
                answer.set_exception(error)

    def _serve_until_done(self, running: "Future[None]") -> None:
        running.add_done_callback(lambda _: self._woken.set())
        while not running.done():
            self._serve_calls()
            self._woken.wait(TICK_S)
            self._woken.clear()
        running.result()

    def _end(self) -> None:
        failure: BaseException | None = None
        try:
            self._core.close(handled=bool(self._stop))
        except Exception as error:  # the caller that awaits the end gets it
            failure = error
        with self._lock:
            self._is_over = True  # only now: a listener that closing calls may still commit
        for _, answer in self._calls:
            if answer.set_running_or_notify_cancel():
                answer.set_exception(ClientClosed("The consumer is closed."))
        if self._loop.is_closed() or not self._ended.set_running_or_notify_cancel():
            return
        self.messages.put([ClientClosed("The consumer is closed.")])
        if failure is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(failure)
