"""A leader's view of one follower or observer: what it has, what is in flight, when it last responded.

PROBE: the leader does not know where the logs match, and sends one message at a time to find out.
REPLICATE: the leader knows, and sends entries ahead of their responses, as many as the window allows.
SNAPSHOT: the follower needs compacted entries; chunks of a snapshot are sent one at a time.
"""

from collections import deque
from enum import Enum

from tidelog.base.ids import NodeId, Uuid
from tidelog.raft.entries import NO_INDEX, Index
from tidelog.raft.ready import Snapshot


class ProgressState(Enum):
    PROBE = "probe"
    REPLICATE = "replicate"
    SNAPSHOT = "snapshot"


class Progress:
    __slots__ = (
        "_inflight",
        "address",
        "caught_up_at",
        "heard_at",
        "id",
        "is_asked",
        "is_waiting",
        "match",
        "next",
        "round",
        "sent_commit",
        "snapshot",
        "snapshot_position",
        "state",
        "storage",
        "storage_since",
        "window_bytes",
    )

    def __init__(self, node_id: NodeId, next_index: Index, now: float) -> None:
        self.id = node_id
        self.address: str | None = None
        self.storage: Uuid | None = None
        """The disk that responded last; None if none did."""
        self.storage_since = now
        self.heard_at: float | None = None
        self.caught_up_at: float | None = None
        self.reset(next_index)

    def reset(self, next_index: Index) -> None:
        self.match: Index = NO_INDEX
        """Its durable log matches ours up to here."""
        self.next = next_index
        self.round = 0
        """The last heartbeat round that it responded to: see `reads.py`."""
        self.sent_commit: Index = NO_INDEX
        self.probe_from(next_index)

    def record_contact(self, storage: Uuid, next_index: Index, now: float) -> None:
        """It responded. A new disk has made none of the promises of the old one."""
        if storage != self.storage:
            if self.storage is not None:
                self.reset(next_index)
            self.storage = storage
            self.storage_since = now
        self.heard_at = now

    def is_live(self, now: float, timeout: float) -> bool:
        return self.heard_at is not None and now - self.heard_at < timeout

    def probe_from(self, index: Index) -> None:
        self.state = ProgressState.PROBE
        self.next = max(index, self.match + 1)
        self.is_waiting = False
        self._clear_inflight()

    def send_snapshot(self, snapshot: Snapshot) -> None:
        self.state = ProgressState.SNAPSHOT
        self.snapshot: Snapshot | None = snapshot
        self.snapshot_position = 0
        self.is_waiting = False
        self.is_asked = False
        """An empty chunk, sent after the last one with data, asks how much has arrived."""

    def _clear_inflight(self) -> None:
        self._inflight: deque[tuple[Index, int]] = deque()
        self.window_bytes = 0
        self.snapshot = None

    def sent(self, last: Index, size: int) -> None:
        """Entries from `next` to `last` are in flight."""
        if self.state is ProgressState.PROBE:
            self.is_waiting = True
            return
        self.next = last + 1
        self._inflight.append((last, size))
        self.window_bytes += size

    def room(self, window_bytes: int, window_entries: int) -> int:
        """Returns the number of entries that may be sent now."""
        if self.state is not ProgressState.REPLICATE:
            return 0 if self.is_waiting else window_entries
        return window_entries - (self.next - 1 - self.match) if self.window_bytes < window_bytes else 0

    def accepted(self, index: Index) -> None:
        """Its disk has everything up to `index`. Late and repeated responses change nothing."""
        if index > self.match:
            self.match = index
            self.next = max(self.next, index + 1)
        while self._inflight and self._inflight[0][0] <= index:
            self.window_bytes -= self._inflight.popleft()[1]
        if self.state is ProgressState.PROBE and index + 1 >= self.next:
            self.state = ProgressState.REPLICATE
            self.is_waiting = False
        elif (
            self.state is ProgressState.SNAPSHOT
            and self.snapshot is not None
            and index >= self.snapshot.index
        ):
            self.probe_from(self.match + 1)
            self.state = ProgressState.REPLICATE

    def received_of_snapshot(self, received: int) -> None:
        """Continue from there. No progress means that the last chunk is lost, but only if we asked after
        sending it."""
        if received != self.snapshot_position or self.is_asked:
            self.snapshot_position = received
            self.is_waiting = False
            self.is_asked = False

    def is_current(self, refused: Index) -> bool:
        """Whether this rejection can be about the last message. A stale one must not reset the progress."""
        if self.state is ProgressState.REPLICATE:
            return refused > self.match
        return self.state is ProgressState.PROBE and refused == self.next - 1
