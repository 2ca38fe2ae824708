"""This broker's part in the quorum of the metadata."""

from collections.abc import Iterator

from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.metrics.families import cluster as families
from tidelog.metrics.page import Page
from tidelog.raft.core import Raft, Role

NO_NODE = -1
ROLES = {
    Role.LEADER: "leader",
    Role.FOLLOWER: "follower",
    Role.CANDIDATE: "candidate",
    Role.PRE_CANDIDATE: "prospective",
    Role.OBSERVER: "observer",
}


class RaftCollector:
    def __init__(self, metadata: MetadataService) -> None:
        self._metadata = metadata

    def collect(self, page: Page) -> Iterator[None]:
        metadata = self._metadata
        if not metadata.has_quorum:
            return
        raft = metadata.quorum.raft
        for role, name in ROLES.items():
            page.add(families.RAFT_ROLE, raft.role is role, name)
        leader = metadata.quorum.leader_id
        page.add(families.RAFT_TERM, raft.term)
        page.add(families.RAFT_LEADER, NO_NODE if leader is None else leader)
        page.add(families.RAFT_LOG_END, raft.last_index)
        page.add(families.RAFT_COMMIT, raft.commit_index)
        page.add(families.RAFT_APPLIED, metadata.version)
        page.add(families.RAFT_ELECTIONS, raft.elections)
        page.add(families.RAFT_LEADER_CHANGES, metadata.leader_changes)
        if raft.is_leader:
            _add_lag(page, raft)
        yield


def _add_lag(page: Page, raft: Raft) -> None:
    """A voter that has not answered this leader yet counts as one that has nothing."""
    end = raft.last_index
    for voter in raft.status().voters:
        page.add(families.RAFT_VOTER_LAG, max(0, end - max(0, voter.last_index)), voter.id)
