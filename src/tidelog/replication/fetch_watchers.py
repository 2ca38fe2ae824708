"""Fetches that wait at a partition: consumers for committed records, followers for every append."""

from collections import deque
from typing import Protocol

from tidelog.base.ids import Offset


class FetchWatcher(Protocol):
    def on_bytes(self, count: int) -> None:
        """`count` more bytes are readable; 0 when something else changed (the log went offline or away)."""
        ...


class FetchWatchers:
    __slots__ = ("consumers", "followers", "uncommitted")

    def __init__(self) -> None:
        self.consumers: dict[FetchWatcher, None] = {}
        """They are notified of bytes below the high watermark."""
        self.followers: dict[FetchWatcher, None] = {}
        """They are notified of bytes as soon as these are appended."""
        self.uncommitted: deque[tuple[Offset, int]] = deque()
        """Appends above the high watermark, as (end offset, bytes): consumers hear of them later."""

    def add(self, watcher: FetchWatcher) -> None:
        self.consumers[watcher] = None

    def add_follower(self, watcher: FetchWatcher) -> None:
        self.followers[watcher] = None

    def remove(self, watcher: FetchWatcher) -> None:
        self.consumers.pop(watcher, None)
        self.followers.pop(watcher, None)

    def committed(self, end: Offset) -> None:
        """The high watermark is `end` now: consumers may read the appends below it."""
        count = 0
        uncommitted = self.uncommitted
        while uncommitted and uncommitted[0][0] <= end:
            count += uncommitted.popleft()[1]
        if self.consumers:
            for watcher in tuple(self.consumers):
                watcher.on_bytes(count)

    def appended(self, count: int) -> None:
        for watcher in tuple(self.followers):
            watcher.on_bytes(count)

    def truncated(self, end: Offset) -> None:
        """The log ends at `end` now."""
        self.uncommitted = deque(part for part in self.uncommitted if part[0] <= end)

    def look_again(self) -> None:
        """Something besides bytes changed: every fetch looks at the partition again."""
        for watchers in (self.consumers, self.followers):
            for watcher in tuple(watchers):
                watcher.on_bytes(0)
