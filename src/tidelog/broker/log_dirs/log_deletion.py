"""Deletes the logs of partitions that were removed from this broker, in threads, a few at a time.

A partition directory is renamed first, and from then on it counts as deleted, whatever happens. Its bytes are
freed later, by one job at a time: requests that wait for the disk must not stand behind a thousand
directories.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from tidelog.base.errors import TidelogError
from tidelog.base.ids import Uuid
from tidelog.broker.log_dirs.flusher import BUSY_SECONDS, RunInThread
from tidelog.broker.log_dirs.log_dirs import LogDirs
from tidelog.storage.log_dir.files import LogDirFiles, PartitionDir

log = logging.getLogger("tidelog.broker.partitions")

Gone = tuple[LogDirFiles, PartitionDir]


class LogDeletion:
    def __init__(self, log_dirs: LogDirs, run_in_thread: RunInThread) -> None:
        self._log_dirs = log_dirs
        self._run_in_thread = run_in_thread
        self._to_free: deque[Sequence[Gone]] = deque()
        self._freeing: asyncio.Task[None] | None = None

    async def rename(self, partitions: Sequence[tuple[Uuid, int]]) -> None:
        """Done when this returns, so that topics of the same names may begin."""
        gone = [
            (*found, topic_id)
            for topic_id, index in partitions
            if (found := self._log_dirs.forget(topic_id, index)) is not None
        ]
        if not gone:
            return
        renamed: list[Gone] = []
        await self._in_thread(lambda: renamed.extend(_rename(gone)))
        self._to_free.append(renamed)
        if self._freeing is None:
            self._freeing = asyncio.get_running_loop().create_task(self._free(), name="free deleted logs")

    async def close(self) -> None:
        """The next start removes what is left."""
        self._to_free.clear()
        if self._freeing is not None:
            await asyncio.gather(self._freeing, return_exceptions=True)

    async def _free(self) -> None:
        while self._to_free:
            deletions = self._to_free.popleft()
            await self._in_thread(partial(_free, deletions))
        self._freeing = None

    async def _in_thread(self, job: Callable[[], None]) -> None:
        while True:
            try:
                running = self._run_in_thread(job)
            except TidelogError as error:
                log.warning("deleted logs cannot be removed yet: %s", error)
                await asyncio.sleep(BUSY_SECONDS)
                continue
            await running
            return


def _rename(gone: Sequence[tuple[LogDirFiles, PartitionDir, Uuid]]) -> list[Gone]:
    renamed: list[Gone] = []
    for files, partition_dir, unique in gone:
        try:
            renamed.append((files, files.mark_deleted(partition_dir, unique, sync=False)))
        except OSError as error:
            log.error("the directory of the deleted %s-%d cannot be renamed: %s", *partition_dir[1:3], error)
    for directory in dict.fromkeys(directory for directory, _ in renamed):
        try:
            directory.sync()
        except OSError as error:
            log.error(
                "%s cannot be synced, so deleted topics may come back after a crash: %s",
                directory.path,
                error,
            )
    return renamed


def _free(deletions: Sequence[Gone]) -> None:
    for files, partition_dir in deletions:
        try:
            files.remove(partition_dir)
        except OSError as error:
            log.warning(
                "the directory of the deleted %s-%d could not be removed yet: %s", *partition_dir[1:3], error
            )
