"""Has the share state of groups made and deleted by the persister, and the group note what came of it.

Requests about one group go one after the other: state that is being deleted is not made anew meanwhile.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.base.ids import Uuid
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.shares.state_requests import StateErrors, delete_request, errors_in, initialize_request
from tidelog.groups.shard import GroupShard
from tidelog.groups.share.messages import StatesToDelete, StatesToMake

if TYPE_CHECKING:
    from tidelog.broker.shares.ports import Persister

PERSISTER_SECONDS = 20.0
"""How long the persister may take. Members wait less, and ask again with their heartbeats."""

RETRY_SECONDS = 0.5
RETRY_SECONDS_MAX = 30.0

log = logging.getLogger("tidelog.broker.shares")


class GroupStates:
    def __init__(
        self, groups: CoordinatorService[GroupShard], persister: "Callable[[], Persister | None]"
    ) -> None:
        self._groups = groups
        self._persister = persister
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()
        """Of the groups with requests under way, how many."""
        self._making: dict[str, asyncio.Task[StateErrors]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def making(self, group_id: str) -> "asyncio.Task[StateErrors] | None":
        """The last request to make state for the group that is still under way."""
        return self._making.get(group_id)

    def start_making(self, to_make: StatesToMake) -> "asyncio.Task[StateErrors]":
        """No client waits: members ask again with their heartbeats."""
        task = self._start(self.make(to_make), f"share state of {to_make.group_id}")
        self._making[to_make.group_id] = task
        task.add_done_callback(lambda done: self._made(to_make.group_id, done))
        return task

    def finish_deletion(self, to_delete: StatesToDelete) -> None:
        """An earlier coordinator began it. No client waits, so it is tried until it is done."""
        self._start(self._finish(to_delete), f"delete share state of {to_delete.group_id}")

    async def make(self, to_make: StatesToMake) -> StateErrors:
        """Have state made, and assigned with the next heartbeats."""
        async with self._turn(to_make.group_id):
            asked = to_make.partitions
            errors = await self._ask(
                asked, lambda persister: persister.initialize(initialize_request(to_make))
            )
            made = _grouped(errors, failed=False)
            failed = _grouped(errors, failed=True)
            served = self._groups.of(to_make.group_id)
            decision = served.shard.share_states_made(to_make.group_id, made, failed, *served.now)
            await served.run(decision, _same)
        if failed:
            self._warn("is not made", to_make.group_id, errors)
        return errors

    async def delete(self, to_delete: StatesToDelete) -> StateErrors:
        """Have state deleted, unless the group began to use it again before it came to that."""
        async with self._turn(to_delete.group_id):
            deleting = self._deleting(to_delete.group_id)
            asked = {topic: numbers for topic, numbers in to_delete.partitions.items() if topic in deleting}
            request = delete_request(to_delete._replace(partitions=asked))
            errors = await self._ask(asked, lambda persister: persister.delete(request))
            failed = _grouped(errors, failed=True)
            done = [topic for topic in asked if topic not in failed]
            served = self._groups.of(to_delete.group_id)
            decision = served.shard.share_states_deleted(to_delete.group_id, done, *served.now)
            await served.run(decision, _same)
        if failed:
            self._warn("is not deleted", to_delete.group_id, errors)
        return errors

    async def _finish(self, to_delete: StatesToDelete) -> StateErrors:
        pause = RETRY_SECONDS
        while any((errors := await self.delete(to_delete)).values()):
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_SECONDS_MAX)
        return errors

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _deleting(self, group_id: str) -> Mapping[Uuid, str]:
        group = self._groups.of(group_id).shard.durable.share_groups.get(group_id)
        return {} if group is None else group.states.deleting

    async def _ask(
        self,
        asked: Mapping[Uuid, frozenset[int]],
        ask: "Callable[[Persister], Coroutine[Any, Any, Any]]",
    ) -> StateErrors:
        persister = self._persister()
        if persister is None or not asked:
            return errors_in(asked)
        try:
            async with asyncio.timeout(PERSISTER_SECONDS):
                answer = await ask(persister)
        except (OSError, TidelogError) as error:
            log.debug("the persister did not answer: %s", error)
            return errors_in(asked)
        return errors_in(asked, answer.results)

    @asynccontextmanager
    async def _turn(self, group_id: str) -> AsyncIterator[None]:
        lock = self._locks.setdefault(group_id, asyncio.Lock())
        self._waiting[group_id] += 1
        try:
            async with lock:
                yield
        finally:
            self._waiting[group_id] -= 1
            if not self._waiting[group_id]:
                del self._waiting[group_id], self._locks[group_id]

    def _start(self, work: Coroutine[Any, Any, StateErrors], name: str) -> "asyncio.Task[StateErrors]":
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[StateErrors]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, KafkaError):  # another broker coordinates the group by now, and goes on with it
            log.info("%s is left to the next coordinator: %s", task.get_name(), error)
        else:
            log.error("%s failed", task.get_name(), exc_info=error)

    def _made(self, group_id: str, task: "asyncio.Task[StateErrors]") -> None:
        if self._making.get(group_id) is task:
            del self._making[group_id]

    def _warn(self, what: str, group_id: str, errors: StateErrors) -> None:
        failed = {error.name for error in errors.values() if error}
        log.warning(
            "share state of group %s %s for %d of %d partitions: %s",
            *(group_id, what, sum(map(bool, errors.values())), len(errors), ", ".join(sorted(failed))),
        )


def _grouped(errors: StateErrors, *, failed: bool) -> dict[Uuid, frozenset[int]]:
    found: dict[Uuid, set[int]] = {}
    for (topic, number), error in errors.items():
        if bool(error) is failed:
            found.setdefault(topic, set()).add(number)
    return {topic: frozenset(numbers) for topic, numbers in found.items()}


def _same(error: ErrorCode) -> ErrorCode:
    return error
