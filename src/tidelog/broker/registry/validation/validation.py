"""Batches for topics whose schemas are checked: decided at once, or once the registry has answered.

A batch that waits holds up the later ones of its connection for the same partition, and no others: so the
records of a producer stay in order, and a producer of bad records delays itself alone.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.registry.validation.known import KnownSchemas, NoAnswer
from tidelog.registry.validation.checking import Checked, check
from tidelog.registry.validation.questions import Rule, Verdicts
from tidelog.replication.partition import Partition
from tidelog.storage.admission import RecordsRefused
from tidelog.wire.batch import check_batches
from tidelog.wire.fronts import Fronts, read_fronts

WAITING_BYTES_MAX = 64 * 1024 * 1024
REFUSED_RECORDS_MAX = 1000
"""Records that an answer names; others of the batch may be as bad."""

Finish: TypeAlias = Callable[[memoryview, KafkaError | None], None]
"""Append the batch, or refuse it."""


class _Waiting(NamedTuple):
    partition: Partition
    batch: memoryview
    """A copy: the client may leave, and its buffer is used for others."""
    finish: Finish
    done: "asyncio.Future[None]"


class SchemaValidation:
    def __init__(self, known: KnownSchemas) -> None:
        self._known = known
        self._queues: dict[Hashable, deque[_Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting_bytes = 0

    def submit(
        self, order: Hashable, partition: Partition, batch: memoryview, finish: Finish
    ) -> "asyncio.Future[None] | None":
        """Call `finish` now and return None, or later, with a copy of the batch.

        `order`: batches of a connection stay in order.
        """
        queue = self._queues.get((order, partition))
        try:
            if queue is None and not (found := self._look(partition, batch)).questions:
                finish(batch, _refusal(found))
                return None
            if self._waiting_bytes + len(batch) > WAITING_BYTES_MAX:
                raise _no_answer("too many batches wait for an answer of the schema registry")
        except KafkaError as error:
            finish(batch, error)
            return None
        waiting = _Waiting(
            partition, memoryview(bytearray(batch)), finish, asyncio.get_running_loop().create_future()
        )
        self._waiting_bytes += len(batch)
        if queue is not None:
            queue.append(waiting)
            return waiting.done
        self._queues[order, partition] = queue = deque([waiting])
        task = asyncio.create_task(self._work_off((order, partition), queue))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return waiting.done

    def close(self) -> None:
        """This broker stops: batches that wait are refused, and their producers find the next leader."""
        for task in self._tasks:
            task.cancel()

    async def _work_off(self, key: Hashable, queue: deque[_Waiting]) -> None:
        try:
            while queue:
                first = queue[0]
                refusal = await self._refusal_of(first)
                queue.popleft()
                self._end(first, refusal)
        finally:
            del self._queues[key]
            for left in queue:
                self._end(left, _no_answer("this broker stops"))

    def _end(self, waiting: _Waiting, refusal: KafkaError | None) -> None:
        self._waiting_bytes -= len(waiting.batch)
        waiting.finish(waiting.batch, refusal)
        if not waiting.done.done():
            waiting.done.set_result(None)

    async def _refusal_of(self, waiting: _Waiting) -> KafkaError | None:
        answers: dict[Rule, Verdicts] = {}
        try:
            # An answer takes its time: what was known at the first look may be forgotten at the next, or the
            # topic may have another rule by then.
            while (found := self._look(waiting.partition, waiting.batch, answers)).questions:
                for rule, verdicts in (await self._known.ask(found.questions)).items():
                    answers[rule] = {**answers.get(rule, {}), **verdicts}
        except NoAnswer as error:
            return _no_answer(f"the schema registry cannot be asked: {error}")
        except KafkaError as error:
            return error
        return _refusal(found)

    def _look(
        self, partition: Partition, batch: memoryview, answers: Mapping[Rule, Verdicts] | None = None
    ) -> Checked:
        checks = partition.log.config.schema_checks
        if checks is None:  # switched off meanwhile
            return Checked((), {})
        return check(_fronts(batch), partition.topic, checks, self._known.passes, answers)


def _fronts(batch: memoryview) -> Fronts:
    check_batches(batch)
    return read_fronts(batch)


def _refusal(found: Checked) -> KafkaError | None:
    if not found.problems:
        return None
    named = dict(list(found.problems.items())[:REFUSED_RECORDS_MAX])
    first, why = next(iter(named.items()))
    message = f"{len(found.problems)} records have no schema that the topic takes; record {first}: {why}"
    return RecordsRefused(ErrorCode.INVALID_RECORD, message, named, named.values())


def _no_answer(why: str) -> KafkaError:
    """Producers try again."""
    return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the schemas of the records are not checked yet: {why}")
