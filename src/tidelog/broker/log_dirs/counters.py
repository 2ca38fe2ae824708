"""What was done to the logs of this broker since it started: plain numbers that metrics read."""


class LogCounters:
    __slots__ = (
        "cleaned_logs",
        "cleaner_freed_bytes",
        "cleaner_read_bytes",
        "cleaner_seconds",
        "dirty_ratio_max",
        "retired_bytes",
        "retired_segments",
        "uncleanable_logs",
    )

    def __init__(self) -> None:
        self.cleaned_logs = 0
        self.cleaner_read_bytes = 0
        self.cleaner_freed_bytes = 0
        self.cleaner_seconds = 0.0
        self.dirty_ratio_max = 0.0
        """Of all compacted logs, when the cleaner looked last."""
        self.uncleanable_logs = 0
        self.retired_segments = 0
        self.retired_bytes = 0
