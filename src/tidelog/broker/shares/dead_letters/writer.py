"""The dead letters of all share partitions of this broker: a task for each that has some to write.

What cannot be written is tried again for ever, after growing pauses, and never dropped. `problems` says what
holds up which share partition, and a change of topics or settings ends the pauses, as it may be the remedy.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.shares.dead_letters.job import HeldUpError, LetterJob, LetterTools
from tidelog.broker.shares.dead_letters.sending import LetterSender
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.metadata.image.image import ImageDelta
from tidelog.shares.place import SharePlace

PAUSE_SECONDS: Final = 0.5
PAUSE_SECONDS_MAX: Final = 30.0
LOG_SECONDS: Final = 60.0
SLOTS: Final = 8

log = logging.getLogger("tidelog.broker.shares")


class DeadLetterProblem(NamedTuple):
    """Why the dead letters of a share partition are not written."""

    why: str
    since_ms: TimestampMs
    tries: int


class DeadLetters:
    def __init__(
        self,
        shares: SharePartitions,
        metadata: MetadataService,
        sender: LetterSender,
        *,
        take_producer_id: Callable[[], Awaitable[ProducerId]],
        run_in_thread: RunInThread,
    ) -> None:
        slots = asyncio.Semaphore(SLOTS)
        self._clock = shares.clock
        self._tools = LetterTools(shares.clock, metadata, sender, take_producer_id, run_in_thread, slots)
        self._tasks: dict[LedShare, asyncio.Task[None]] = {}
        self._jobs: dict[LedShare, LetterJob] = {}
        """Kept until the share partition is dropped: a job numbers its batches."""
        self._changed = asyncio.Event()
        """A topic or a setting changed; set and replaced at once."""
        self.problems: dict[SharePlace, DeadLetterProblem] = {}
        self.written: Counter[str] = Counter()
        """Dead letters by group."""
        self.failed: Counter[str] = Counter()
        """Tries by group that wrote none."""
        shares.on_archiving = self.begin
        shares.dead_letter_problem = self.problem_of
        shares.on_dropped.append(self._dropped)
        metadata.on_change(self._on_change)

    def __len__(self) -> int:
        """Share partitions with dead letters to write."""
        return len(self._tasks)

    def problem_of(self, led: LedShare) -> str | None:
        problem = self.problems.get(led.place)
        return None if problem is None else problem.why

    def begin(self, led: LedShare) -> None:
        """There are dead letters to write; a task that is under way takes them, too."""
        if led not in self._tasks and led.error is None:
            loop = asyncio.get_running_loop()
            self._tasks[led] = loop.create_task(self._run(led), name="dead letters")

    def close(self) -> None:
        """The broker stops: a batch that was begun is sent again by the next leader."""
        for task in tuple(self._tasks.values()):
            task.cancel()

    def _dropped(self, led: LedShare) -> None:
        self._jobs.pop(led, None)
        task = self._tasks.pop(led, None)  # a task that is cancelled before it began does not do so itself
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _on_change(self, delta: ImageDelta) -> None:
        if self.problems and (delta.topics_created or delta.topics_deleted or delta.configs_changed):
            self._changed.set()
            self._changed = asyncio.Event()

    async def _run(self, led: LedShare) -> None:
        hold_up = _HoldUp()
        if (job := self._jobs.get(led)) is None:
            job = self._jobs[led] = LetterJob(led, self._tools)
        group_id = led.place.group_id
        try:
            while led.error is None and led.share.has_archiving:
                changed = self._changed
                try:
                    written = await job.step()
                except Exception as error:
                    if led.error is not None:
                        return
                    if not isinstance(error, HeldUpError | KafkaError | OSError):
                        log.exception("dead letters of share group %s", group_id)
                    led.changed()  # the batch before may be written, and wait for the save of this one
                    self.failed[group_id] += 1
                    self._note(led, hold_up, str(error) or type(error).__name__)
                    await hold_up.pause(changed)
                    continue
                self.written[group_id] += written
                if written and hold_up.tries:
                    log.warning(
                        "dead letters of share group %s at %s-%d are written again, after %d tries",
                        *(group_id, job.origin.topic, job.origin.partition, hold_up.tries),
                    )
                    hold_up = _HoldUp()
                    self.problems.pop(led.place, None)
        finally:
            # Here, and not in a callback of the task: dead letters that come from now on need a new task.
            self._tasks.pop(led, None)
            self.problems.pop(led.place, None)

    def _note(self, led: LedShare, hold_up: "_HoldUp", why: str) -> None:
        now = self._clock.monotonic()
        hold_up.tries += 1
        since_ms = self._clock.now_ms()
        if (before := self.problems.get(led.place)) is not None:
            since_ms = before.since_ms
        self.problems[led.place] = DeadLetterProblem(why, since_ms, hold_up.tries)
        if hold_up.tries == 1 or now - hold_up.logged_at >= LOG_SECONDS:
            hold_up.logged_at = now
            log.warning(
                "%d dead letters of share group %s at %s-%d wait: %s (try %d, next in %g s)",
                *(led.share.archiving, led.place.group_id, led.partition.topic, led.partition.index),
                *(why, hold_up.tries, hold_up.pause_seconds),
            )


class _HoldUp:
    """The tries of a job since it last wrote something."""

    __slots__ = ("logged_at", "pause_seconds", "tries")

    def __init__(self) -> None:
        self.tries = 0
        self.logged_at = 0.0
        self.pause_seconds = PAUSE_SECONDS

    async def pause(self, changed: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self.pause_seconds):
                await changed.wait()
        except TimeoutError:
            self.pause_seconds = min(2 * self.pause_seconds, PAUSE_SECONDS_MAX)
