"""How many transactions have ended, and how: plain integers that metrics read."""


class EndedTransactions:
    """Shared by all shards, and outlives them: a counter must not fall when another broker takes one over."""

    __slots__ = ("aborted", "committed", "timed_out")

    def __init__(self) -> None:
        self.committed = 0
        self.aborted = 0
        """By their producer, or by one that took its place."""
        self.timed_out = 0
