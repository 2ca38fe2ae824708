"""What a leader knows of one follower or observer: what it has, what is on its way, when it last spoke.

PROBE: we don't know where its log agrees with ours; one message at a time finds out.
REPLICATE: we know; entries are sent ahead of their answers, as many as the window allows.
SNAPSHOT: it needs entries that are compacted away; chunks go one at a time.
"""

from collections import deque
from enum import Enum

from tidelog.base.ids import NodeId, Uuid
from tidelog.raft.entries import NO_INDEX, Index
from tidelog.raft.ready import Snapshot


class Pace(Enum):
    PROBE = "probe"
    REPLICATE = "replicate"
    SNAPSHOT = "snapshot"


class Progress:
    __slots__ = (
        "_under_way",
        "address",
        "caught_up_at",
        "heard_at",
        "id",
        "is_asked",
        "is_waiting",
        "match",
        "next",
        "pace",
        "round",
        "snapshot",
        "snapshot_position",
        "storage",
        "storage_since",
        "told_commit",
        "window_bytes",
    )

    def __init__(self, node_id: NodeId, next_index: Index, now: float) -> None:
        self.id = node_id
        self.address: str | None = None
        self.storage: Uuid | None = None
        """The disk that answered last. None: none did."""
        self.storage_since = now
        self.heard_at: float | None = None
        self.caught_up_at: float | None = None
        self.reset(next_index)

    def reset(self, next_index: Index) -> None:
        self.match: Index = NO_INDEX
        """Its disk agrees with our log up to here."""
        self.next = next_index
        self.round = 0
        """The last round of heartbeats that it answered: see `reads.py`."""
        self.told_commit: Index = NO_INDEX
        self.probe_from(next_index)

    def heard(self, storage: Uuid, next_index: Index, now: float) -> None:
        """It spoke. Another disk than before has made none of the promises that we know of."""
        if storage != self.storage:
            if self.storage is not None:
                self.reset(next_index)
            self.storage = storage
            self.storage_since = now
        self.heard_at = now

    def is_live(self, now: float, timeout: float) -> bool:
        return self.heard_at is not None and now - self.heard_at < timeout

    def probe_from(self, index: Index) -> None:
        self.pace = Pace.PROBE
        self.next = max(index, self.match + 1)
        self.is_waiting = False
        self._forget_what_is_under_way()

    def send_snapshot(self, snapshot: Snapshot) -> None:
        self.pace = Pace.SNAPSHOT
        self.snapshot: Snapshot | None = snapshot
        self.snapshot_position = 0
        self.is_waiting = False
        self.is_asked = False
        """An empty chunk, sent after the last one with data, asks how much has arrived."""

    def _forget_what_is_under_way(self) -> None:
        self._under_way: deque[tuple[Index, int]] = deque()
        self.window_bytes = 0
        self.snapshot = None

    def sent(self, last: Index, size: int) -> None:
        """Entries from `next` to last are on their way."""
        if self.pace is Pace.PROBE:
            self.is_waiting = True
            return
        self.next = last + 1
        self._under_way.append((last, size))
        self.window_bytes += size

    def room(self, window_bytes: int, window_entries: int) -> int:
        """How many entries may be sent now."""
        if self.pace is not Pace.REPLICATE:
            return 0 if self.is_waiting else window_entries
        return window_entries - (self.next - 1 - self.match) if self.window_bytes < window_bytes else 0

    def accepted(self, index: Index) -> None:
        """Its disk has everything up to index. Late and repeated answers change nothing."""
        if index > self.match:
            self.match = index
            self.next = max(self.next, index + 1)
        while self._under_way and self._under_way[0][0] <= index:
            self.window_bytes -= self._under_way.popleft()[1]
        if self.pace is Pace.PROBE and index + 1 >= self.next:
            self.pace = Pace.REPLICATE
            self.is_waiting = False
        elif self.pace is Pace.SNAPSHOT and self.snapshot is not None and index >= self.snapshot.index:
            self.probe_from(self.match + 1)
            self.pace = Pace.REPLICATE

    def received_of_snapshot(self, received: int) -> None:
        """Go on from there. No progress means that the last chunk is lost, but only if we asked after it."""
        if received != self.snapshot_position or self.is_asked:
            self.snapshot_position = received
            self.is_waiting = False
            self.is_asked = False

    def is_news(self, refused: Index) -> bool:
        """Can this refusal be about what we sent last? An old one must not turn us back."""
        if self.pace is Pace.REPLICATE:
            return refused > self.match
        return self.pace is Pace.PROBE and refused == self.next - 1
