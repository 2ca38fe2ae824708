"""A produce request with acks=all that waits until every partition in it is safe."""

import asyncio
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset
from tidelog.replication.partition import Partition
from tidelog.wire.messages.produce import PartitionProduceResponse, ProduceResponse


class Written(NamedTuple):
    partition: Partition
    committed_at: Offset
    answer: PartitionProduceResponse


class DelayedProduce:
    """Counts down the partitions; whoever is last, or the timer, completes the future."""

    __slots__ = ("_left", "_response", "_timer", "future")

    def __init__(self, response: ProduceResponse, unsafe: list[Written], timeout_ms: int) -> None:
        loop = asyncio.get_running_loop()
        self.future: asyncio.Future[ProduceResponse] = loop.create_future()
        self._response = response
        self._left: dict[int, _Wait] = {}
        for written in unsafe:
            wait = _Wait(self, written)
            try:
                if not written.partition.when_committed(written.committed_at, wait.done):
                    self._left[id(wait)] = wait
            except KafkaError as error:
                wait.fail(error.code, error.message)
        self._timer = loop.call_later(timeout_ms / 1000, self._time_is_up) if self._left else None
        self.future.add_done_callback(self._clean_up)
        if not self._left:
            self.future.set_result(response)

    def release(self, wait: "_Wait") -> None:
        if self._left.pop(id(wait), None) is not None and not self._left and not self.future.done():
            self.future.set_result(self._response)

    def _time_is_up(self) -> None:
        for wait in self._left.values():
            wait.fail(
                ErrorCode.REQUEST_TIMED_OUT, "the records are written but not yet safe on every replica"
            )
        if not self.future.done():
            self.future.set_result(self._response)

    def _clean_up(self, _: "asyncio.Future[ProduceResponse]") -> None:
        if self._timer is not None:
            self._timer.cancel()
        for wait in self._left.values():
            wait.written.partition.forget(wait.done)
        self._left.clear()


class _Wait:
    __slots__ = ("done", "written")

    def __init__(self, delayed: DelayedProduce, written: Written) -> None:
        self.written = written

        def done(error: KafkaError | None) -> None:
            if error is not None:
                self.fail(error.code, error.message)
            delayed.release(self)

        self.done = done

    def fail(self, code: ErrorCode, message: str) -> None:
        answer = self.written.answer
        answer.error_code = code
        answer.error_message = message
        answer.base_offset = -1
