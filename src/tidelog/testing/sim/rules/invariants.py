"""What must hold inside the cluster at every moment, looked at many times a second of virtual time."""

from tidelog.testing.sim.cluster.cluster import SimCluster
from tidelog.testing.sim.cluster.view import views
from tidelog.testing.sim.rules.isr import AckedOnIsr, CommittedOnIsr
from tidelog.testing.sim.rules.quorum import CommittedEntries, OwnTerm, RaftLeaders
from tidelog.testing.sim.rules.replicas import (
    EqualReplicas,
    FollowersHighWatermark,
    Offsets,
    PartitionLeaders,
    ReplicasApart,
)
from tidelog.testing.sim.rules.reserve import ReserveIsKept
from tidelog.testing.sim.rules.shares import SavedIsStored, StoredNeverGoesBack
from tidelog.testing.sim.rules.transactions import MarkersInOrder, NothingHangs, OpenUntilDecided

BROKEN_MAX = 20
"""More of them tell nothing new."""


class Invariants:
    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster
        self.broken: dict[str, float] = {}
        """What was broken, and when it was first seen."""
        self._rules = (
            PartitionLeaders(),
            ReplicasApart(),
            RaftLeaders(),
            CommittedEntries(),
            Offsets(),
            EqualReplicas(),
            AckedOnIsr(cluster),
            CommittedOnIsr(),
            FollowersHighWatermark(),
            OwnTerm(),
            MarkersInOrder(),
            OpenUntilDecided(),
            NothingHangs(),
            ReserveIsKept(),
            StoredNeverGoesBack(),
            SavedIsStored(),
        )

    def check(self) -> None:
        seen = views(self._cluster)
        for rule in self._rules:
            for violation in rule.check(seen):
                if violation not in self.broken and len(self.broken) < BROKEN_MAX:
                    self.broken[violation] = self._cluster.loop.now
                    self._cluster.note(f"BROKEN: {violation}")
