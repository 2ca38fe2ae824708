"""Leaders that fall before their entries are on a majority, one after the other: figure 8 of the Raft paper.

In each reign a bare majority is up. It elects one, which takes an entry, gets a few of its messages through,
and crashes. So logs end in many terms, and entries of old terms come to lie on a majority late, when a node
that lacks them can still win.
"""

import random

from tests.rigs.raft.cluster import RaftCluster
from tests.rigs.raft.schedule import SETTINGS, SeededRandom
from tidelog.base.ids import NodeId
from tidelog.raft.core import Raft
from tidelog.raft.errors import NotLeader

ELECTION_TURNS_MAX = 60
TURN_SECONDS = 0.1
MESSAGES_MAX = 35
BYTES = 50
"""Of an entry: so many that each travels alone."""


class ShortReigns:
    def __init__(self, seed: int, voters: int = 5) -> None:
        self.random = random.Random(seed)
        self.cluster = RaftCluster(
            range(1, voters + 1), lambda node_id: SeededRandom(f"{seed}/{node_id}"), settings=SETTINGS
        )
        self._proposals = 0

    def run(self, reigns: int) -> None:
        self.cluster.run(3.0)
        for _ in range(reigns):
            self._reign()
        self.cluster.checks.logs_match(self.cluster.members.values())

    def _reign(self) -> None:
        members = list(self.cluster.members)
        up = self.random.sample(members, len(members) // 2 + 1)
        self.cluster.letters.clear()
        for node_id in members:
            self.cluster.crash(node_id)
            if node_id in up:
                self.cluster.restart(node_id)
        leader = self._elect(up)
        if leader is None:
            return
        self._proposals += 1
        try:
            leader.propose(f"{self._proposals}".encode().rjust(BYTES), self.cluster.now)
        except NotLeader:
            return
        self._deliver_some(up, self.random.choice((0, 1, 2, self.random.randint(0, MESSAGES_MAX))))

    def _elect(self, up: list[NodeId]) -> Raft | None:
        """Votes get through; what the winner sends first waits."""
        for _ in range(ELECTION_TURNS_MAX):
            self.cluster.now += TURN_SECONDS
            for node_id in up:
                self.cluster.tick(node_id)
            while True:
                for node_id in up:
                    self.cluster.pump(node_id)
                leader = self.cluster.leader()
                if leader is not None:
                    return leader
                if not self.cluster.letters:
                    break
                self.cluster.deliver(self.cluster.letters.pop(0))
        return None

    def _deliver_some(self, up: list[NodeId], count: int) -> None:
        """In order between any two nodes, as on a connection."""
        for _ in range(count):
            for node_id in up:
                self.cluster.pump(node_id)
            letters = self.cluster.letters
            if not letters:
                return
            chosen = self.random.choice(letters)
            first = next(one for one in letters if (one.sender, one.to) == (chosen.sender, chosen.to))
            letters.remove(first)
            self.cluster.deliver(first)
