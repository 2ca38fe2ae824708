"""Which protocols the members of a group share, and which of them they prefer."""

from collections import Counter
from collections.abc import Collection, Iterable

from tidelog.groups.classic.member import Member, Protocols


class ProtocolVotes:
    """Counts, so that a join is checked without asking every other member."""

    __slots__ = ("_knowing",)

    def __init__(self) -> None:
        self._knowing: Counter[str] = Counter()  # protocol name to how many members know it

    def add(self, protocols: Protocols) -> None:
        self._knowing.update(name for name, _ in protocols)

    def drop(self, protocols: Protocols) -> None:
        for name, _ in protocols:
            self._knowing[name] -= 1
            if not self._knowing[name]:
                del self._knowing[name]

    def share_one(self, names: Iterable[str], members: int) -> bool:
        """Whether all of so many members know one of these protocols."""
        return any(self._knowing[name] == members for name in names)

    def winner(self, members: Collection[Member]) -> str:
        """The protocol with most votes among those that all members know."""
        common = {name for name, knowing in self._knowing.items() if knowing == len(members)}
        votes = Counter(member.vote(common) for member in members)
        return votes.most_common(1)[0][0]
