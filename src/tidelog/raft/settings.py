"""The knobs of Raft. Times in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaftSettings:
    heartbeat_interval: float = 0.2
    election_timeout: float = 1.0
    """Without a leader for this long, up to twice as long by chance, a voter seeks election. A leader that
    does not hear from a majority for this long steps down."""
    observer_timeout: float = 10.0
    """A leader forgets a node without a vote that is silent for this long."""
    message_bytes_max: int = 1 << 20
    """Entries in one message; a larger entry travels alone. Also the size of a snapshot's chunks."""
    window_bytes: int = 4 << 20
    window_entries: int = 4096
    """What may be under way to one peer without an answer."""
    snapshot_bytes_max: int = 1 << 30
    """A larger snapshot from a peer is refused."""
    observers_max: int = 1000
    catch_up_entries_max: int = 100
    """A node may get a vote when it lacks no more entries than this."""
    trailing_entries: int = 1000
    trailing_bytes: int = 4 << 20
    """Kept in memory below a snapshot, so that a follower that is a little behind does not need it."""
