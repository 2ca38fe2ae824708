"""The answers that the members of one group got, compared with each other."""


class GroupLedger:
    """Each partition has one owner in a generation, who alone commits for it, and no commit is forgotten."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.complaints: list[str] = []
        self.committed: dict[tuple[str, int], int] = {}
        """The highest offset of each partition whose commit was acknowledged."""
        self._owners: dict[tuple[int, tuple[str, int]], str] = {}
        self._newest: dict[tuple[str, int], tuple[int, str]] = {}
        """The last generation in which each partition was assigned, and its owner."""

    def assigned(self, member: str, generation: int, places: list[tuple[str, int]]) -> None:
        for place in places:
            owner = self._owners.setdefault((generation, place), member)
            if owner != member:
                self.complaints.append(
                    f"{owner} and {member} both own {place[0]}-{place[1]} in generation {generation} of "
                    f"{self.group}"
                )
            self._newest[place] = max((generation, member), self._newest.get(place, (-1, "")))

    def is_anothers(self, member: str, generation: int, place: tuple[str, int]) -> bool:
        """Whether another member has got the partition since: then this member's commits must be refused."""
        newest, owner = self._newest.get(place, (-1, ""))
        return owner != member and newest > generation

    def commit_of_zombie(self, member: str, generation: int, place: tuple[str, int]) -> None:
        newest, owner = self._newest[place]
        self.complaints.append(
            f"{member} commits for {place[0]}-{place[1]} in generation {generation} of {self.group} after "
            f"{owner} was given it in generation {newest}"
        )

    def commit_acknowledged(self, place: tuple[str, int], offset: int) -> None:
        self.committed[place] = max(offset, self.committed.get(place, -1))

    def fetched(self, place: tuple[str, int], offset: int, promised: int) -> None:
        """`promised`: what was acknowledged before the question was asked."""
        if offset < promised:
            self.complaints.append(
                f"{self.group} had committed {promised} of {place[0]}-{place[1]}, and finds {offset}"
            )
        # A member that has seen a commit may rely on it, also if the answer to the commit itself was lost.
        if offset >= 0:  # else there is none
            self.commit_acknowledged(place, offset)
