"""What happened at share partitions since the broker started: one tally for all of them, for the metrics."""

from tidelog.shares.states import AckType


class Tally:
    __slots__ = ("acknowledged", "delivered", "lock_timeouts", "redelivered", "save_failures", "saves")

    def __init__(self) -> None:
        self.delivered = 0
        self.redelivered = 0
        """Those of `delivered` that were delivered before."""
        self.acknowledged = [0] * len(AckType)
        """Records by `AckType`."""
        self.lock_timeouts = 0
        self.saves = 0
        self.save_failures = 0
