"""Saves the state of one share partition behind it, one write at a time.

What changes while a write is under way goes into the next, so that many acknowledgements share one write. A
write that failed is repeated with what is new: state batches are absolute, so a write that may have
succeeded does no harm twice.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Epoch
from tidelog.broker.shares.ports import StateStore
from tidelog.broker.shares.state_messages import error_in, save_request
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.place import SharePlace

Done: TypeAlias = Callable[[KafkaError | None], None]

ANSWER_SECONDS = 10.0
"""A client waits this long for a save. The save goes on."""
BACKOFF_SECONDS = 0.1
BACKOFF_SECONDS_MAX = 5.0

FENCED = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
    }
)
"""No repetition helps: what this broker has in memory is not what counts any more."""

log = logging.getLogger("tidelog.broker.shares")


class StateSaver:
    __slots__ = (
        "_is_stopped",
        "_leader_epoch",
        "_on_fenced",
        "_on_saved",
        "_place",
        "_share",
        "_store",
        "_task",
        "_waiters",
    )

    def __init__(
        self,
        place: SharePlace,
        share: SharePartition,
        store: StateStore,
        *,
        leader_epoch: Epoch,
        on_saved: Callable[[], None],
        on_fenced: Callable[[KafkaError], None],
    ) -> None:
        self._place = place
        self._share = share
        self._store = store
        self._leader_epoch = leader_epoch
        self._on_saved = on_saved
        self._on_fenced = on_fenced
        self._waiters: deque[tuple[int, float, Done]] = deque()
        """Version, deadline and callback; versions and deadlines ascend."""
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    @property
    def is_saved(self) -> bool:
        return self._share.saved_version >= self._share.unsaved_version

    @property
    def next_deadline(self) -> float | None:
        return self._waiters[0][1] if self._waiters else None

    def save(self) -> None:
        """Begin a write of what is unsaved; one that is under way does so when it is complete."""
        if self._task is None and not self._is_stopped and not self.is_saved:
            # A task begins with the next turn of the loop: all acknowledgements of this turn share a write.
            self._task = asyncio.get_running_loop().create_task(self._run(), name="share state save")
            self._task.add_done_callback(self._ended)

    def when_saved(self, now: float, done: Done) -> bool:
        """True if all is saved; else `done` is called once it is, or with an error."""
        if self.is_saved:
            return True
        self._waiters.append((self._share.unsaved_version, now + ANSWER_SECONDS, done))
        self.save()
        return False

    def expire(self, now: float) -> None:
        waiters = self._waiters
        while waiters and waiters[0][1] <= now:
            waiters.popleft()[2](
                KafkaError(
                    ErrorCode.REQUEST_TIMED_OUT,
                    f"the state of the share group was not saved within {ANSWER_SECONDS:g} s",
                )
            )

    def stop(self, error: KafkaError) -> None:
        """The share partition is dropped: callers get the error, and nothing is written any more."""
        self._is_stopped = True
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        waiters, self._waiters = self._waiters, deque()
        for _, _, done in waiters:
            done(error)

    async def _run(self) -> None:
        share, backoff = self._share, BACKOFF_SECONDS
        while not self._is_stopped and (unsaved := share.take_unsaved()) is not None:
            request = save_request(self._place, share.state_epoch, self._leader_epoch, unsaved)
            error = error_in(await self._store.write(request))
            share.tally.saves += 1
            if error is None:
                share.saved(unsaved)
                self._resolve()
                self._on_saved()
                backoff = BACKOFF_SECONDS
                continue
            share.tally.save_failures += 1
            share.not_saved(unsaved)
            if error.code in FENCED:
                self._on_fenced(error)
                return
            log.warning(
                "the state of share group %s at partition %d of topic %s is not saved, next try in %g s: %s",
                *(self._place.group_id, self._place.partition, self._place.topic_id.hex(), backoff, error),
            )
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, BACKOFF_SECONDS_MAX)

    def _resolve(self) -> None:
        waiters, saved = self._waiters, self._share.saved_version
        while waiters and waiters[0][0] <= saved:
            waiters.popleft()[2](None)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            log.error("the state of share group %s cannot be saved", self._place.group_id, exc_info=error)
            self._on_fenced(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
        else:
            self.save()
