"""What the groups of this broker have done since it started: plain integers that metrics read."""


class GroupCounters:
    """Shared by all shards, and outlives them: a counter must not fall when another broker takes one over."""

    __slots__ = ("offset_commits", "rebalances")

    def __init__(self) -> None:
        self.rebalances = 0
        """Generations of classic groups, and epochs of the others."""
        self.offset_commits = 0
        """One for each partition of a commit."""
