"""The settings of Raft. Times in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RaftSettings:
    heartbeat_interval: float = 0.2
    election_timeout: float = 1.0
    """A voter without a leader for this long, or a random time up to twice as long, starts an election. A
    leader without responses from a majority for this long steps down."""
    observer_timeout: float = 10.0
    """A leader stops replicating to an observer that has not responded for this long."""
    message_bytes_max: int = 1 << 20
    """Entries in one message; a larger entry travels alone. Also the size of a snapshot's chunks."""
    window_bytes: int = 4 << 20
    window_entries: int = 4096
    """What may be in flight to one peer."""
    snapshot_bytes_max: int = 1 << 30
    """A larger snapshot is refused."""
    observers_max: int = 1000
    catch_up_entries_max: int = 100
    """A node may get a vote when it lacks no more entries than this."""
    trailing_entries: int = 1000
    trailing_bytes: int = 4 << 20
    """Kept in memory below a snapshot, so that a follower that is a little behind does not need it."""
