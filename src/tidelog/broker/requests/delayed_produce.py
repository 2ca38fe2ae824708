"""A produce request with acks=all that waits until its records are committed in every partition."""

import asyncio
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.replication.partition import Partition
from tidelog.wire.messages.produce import PartitionProduceResponse, ProduceResponse


class UncommittedAppend(NamedTuple):
    partition: Partition
    committed_at: Offset
    answer: PartitionProduceResponse


class DelayedProduce:
    """Counts down the partitions; the last of them, or the timer, completes the future."""

    __slots__ = ("_left", "_response", "_timer", "future")

    def __init__(
        self, response: ProduceResponse, uncommitted: list[UncommittedAppend], timeout_ms: int
    ) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[ProduceResponse] = loop.create_future()
        self._response = response
        self._left: set[_PartitionWait] = set()
        for append in uncommitted:
            wait = _PartitionWait(self, append)
            try:
                if not append.partition.when_committed(append.committed_at, wait):
                    self._left.add(wait)
            except KafkaError as error:
                wait.fail(error.code, error.message)
        self._timer = loop.call_later(timeout_ms / 1000, self._time_is_up) if self._left else None
        self.future.add_done_callback(self._clean_up)
        if not self._left:
            self.future.set_result(response)

    def release(self, wait: "_PartitionWait") -> None:
        if wait in self._left:
            self._left.remove(wait)
            if not self._left and not self.future.done():
                self.future.set_result(self._response)

    def _time_is_up(self) -> None:
        for wait in self._left:
            wait.fail(
                ErrorCode.REQUEST_TIMED_OUT,
                "the records are written but not committed yet: not every in-sync replica has them",
            )
        if not self.future.done():
            self.future.set_result(self._response)

    def _clean_up(self, _: "asyncio.Future[ProduceResponse]") -> None:
        if self._timer is not None:
            self._timer.cancel()
        for wait in self._left:
            wait.append.partition.forget(wait)
        self._left.clear()


class _PartitionWait:
    """Called once the append is committed, or cannot be. Nothing that it refers to leads back here by then:
    each request would leave a ring of objects to the garbage collector."""

    __slots__ = ("_delayed", "append")

    def __init__(self, delayed: DelayedProduce, append: UncommittedAppend) -> None:
        self._delayed = delayed
        self.append = append

    def __call__(self, error: KafkaError | None) -> None:
        if error is not None:
            self.fail(error.code, error.message)
        self._delayed.release(self)

    def fail(self, code: ErrorCode, message: str) -> None:
        answer = self.append.answer
        answer.error_code = code
        answer.error_message = message
        answer.base_offset = -1
