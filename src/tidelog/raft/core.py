"""Raft, as its shell sees it: `step`, `tick` and `propose` go in, a `Ready` comes out, `done` confirms it.

No I/O, no clock, no threads: time is an argument. The shell obeys one Ready after the other (see `ready.py`).
The rules are in the files beside this one: `election`, `leading` and `sending`, `following`, `membership`,
`reads`, `transfer`, `heartbeats`; the state they share is in `state`.
"""

from tidelog.base.ids import NodeId, Uuid
from tidelog.base.invariant import invariant
from tidelog.base.ports import Random
from tidelog.raft import election, heartbeats, leading, membership, reads, sending, transfer
from tidelog.raft.entries import Configuration, Entry, EntryKind, Index, Term, Voter
from tidelog.raft.errors import NotLeader
from tidelog.raft.leadership import Leadership
from tidelog.raft.messages import Addressed, AnyMessage
from tidelog.raft.ready import ReadTicket, Ready, Restored, SnapshotSource
from tidelog.raft.routing import route
from tidelog.raft.settings import RaftSettings
from tidelog.raft.state import RaftNode, Role
from tidelog.raft.status import QuorumStatus, describe

__all__ = ["Raft", "Role"]


class Raft:
    def __init__(
        self,
        *,
        node_id: NodeId,
        storage_id: Uuid,
        address: str,
        restored: Restored,
        settings: RaftSettings,
        random: Random,
        now: float,
        snapshot_source: SnapshotSource,
        seeds: tuple[Voter, ...] = (),
    ) -> None:
        """`seeds`: voters named in the settings, asked for the leader too in case those in the log are out of
        date."""
        self._node = node = RaftNode(
            node_id=node_id,
            storage=storage_id,
            address=address,
            restored=restored,
            settings=settings,
            random=random,
            snapshot_source=snapshot_source,
            seeds=seeds,
        )
        self._tickets = 0
        self._now = now
        if node.is_voter and len(node.counted) == 1:
            election.campaign(node, now)
        else:
            # Soon, since there may be no leader. If there is one, the pre-vote is refused and does no harm.
            node.deadline = now + settings.heartbeat_interval * node.timeout / settings.election_timeout

    @property
    def role(self) -> Role:
        if self._node.role is Role.FOLLOWER and not self._node.is_voter:
            return Role.OBSERVER
        return self._node.role

    @property
    def term(self) -> Term:
        return self._node.term

    @property
    def leader_id(self) -> NodeId | None:
        return self._node.leader_id

    @property
    def elections(self) -> int:
        """Elections that this node began since its process did."""
        return self._node.elections

    @property
    def last_index(self) -> Index:
        return self._node.log.last_index

    @property
    def commit_index(self) -> Index:
        return self._node.commit_index

    @property
    def configuration(self) -> Configuration:
        """The one in force, committed or not."""
        return self._node.configuration

    @property
    def is_voter(self) -> bool:
        return self._node.is_voter

    @property
    def is_leader(self) -> bool:
        return self._node.leadership is not None

    @property
    def is_ready_leader(self) -> bool:
        """A leader that has committed in its own term, so that it knows everything that is committed."""
        lead = self._node.leadership
        return lead is not None and self._node.commit_index >= lead.first_index

    def term_at(self, index: Index) -> Term | None:
        return self._node.log.term_at(index)

    def configuration_at(self, index: Index) -> Configuration:
        """What a snapshot at index must remember."""
        return self._node.configurations.at(index)

    def address_of(self, node_id: NodeId) -> str | None:
        return self._node.address_of(node_id)

    def status(self) -> QuorumStatus:
        return describe(self._node)

    def step(self, message: AnyMessage, now: float) -> None:
        """Handle a message. Never raises, whatever the message says."""
        self._now = now
        route(self._node, message, now)

    @property
    def heartbeat_interval(self) -> float:
        return self._node.settings.heartbeat_interval

    @property
    def next_deadline(self) -> float:
        """When `tick` must be called again; earlier calls do nothing."""
        lead = self._node.leadership
        return self._node.deadline if lead is None else leading.next_deadline(lead)

    def tick(self, now: float) -> None:
        self._now = now
        lead = self._node.leadership
        if lead is not None:
            leading.tick(self._node, lead, now)
        elif now >= self._node.deadline:
            election.on_deadline(self._node, now)

    def propose(self, data: bytes, now: float) -> Index:
        """Returns the index that the entry has if it is committed in this term."""
        node, lead = self._node, self._leadership()
        self._now = now
        if lead.transfer is not None:
            raise NotLeader(lead.transfer.target, "leadership is being transferred")
        node.append([Entry(node.term, EntryKind.DATA, data)])
        return node.log.last_index

    def change_voters(self, configuration: Configuration, now: float) -> Index:
        """Add or remove one voter. ChangeRefused says why not, where it cannot be done now."""
        return membership.change(self._node, self._leadership(), configuration, now)

    def transfer_leadership(self, to: NodeId | None, now: float) -> None:
        """Transfer leadership to a voter, or to the best one. Proposals are refused until that succeeds or
        fails."""
        transfer.start(self._node, self._leadership(), to, now)

    def resign(self, now: float) -> None:
        """Step down at once. The messages of the next Ready speed up the election of a successor."""
        if self._node.leadership is not None:
            transfer.resign(self._node, self._node.leadership, now)

    def read_index(self, now: float) -> ReadTicket:
        """`Ready.reads` will say up to where the state must be applied for a fresh read."""
        lead = self._leadership()
        self._now = now
        self._tickets += 1
        ticket = ReadTicket(self._tickets)
        reads.ask(self._node, lead, ticket)
        return ticket

    def compact(self, index: Index) -> None:
        """The shell has a durable snapshot at index: the entries up to it may go."""
        node = self._node
        invariant(index <= node.applied_index, "compaction ahead of what is applied", index=index)
        node.log.compact(index, node.settings.trailing_entries, node.settings.trailing_bytes)
        node.configurations.compacted_to(node.log.base_index)

    def ready(self) -> Ready | None:
        """Returns everything to do now; None if there is nothing."""
        node = self._node
        if node.leadership is not None:
            sending.replicate(node, node.leadership)
        log = node.log
        is_idle = (
            not node.outbox
            and node.applied_index == node.commit_index
            and log.written == log.last_index
            and log.truncated_from is None
            and node.install is None
            and not node.read_results
            and node.hard_state == node.saved
        )
        return None if is_idle else self._take_ready()

    def _take_ready(self) -> Ready:
        node = self._node
        ready = Ready()
        if node.hard_state != node.saved:
            ready.hard_state = node.saved = node.hard_state
        ready.install, node.install = node.install, None
        ready.truncate_from, ready.first_index, ready.entries = node.log.take_unwritten()
        ready.messages, node.outbox = node.outbox, []
        first = node.applied_index + 1
        if first <= node.commit_index:
            ready.committed = list(enumerate(node.log.between(first, node.commit_index), first))
            node.applied_index = node.commit_index
        ready.reads, node.read_results = node.read_results, []
        return ready

    def heartbeats_during(self, ready: Ready) -> list[Addressed]:
        """The heartbeats that a leader may send while the disk is still busy with this Ready."""
        node = self._node
        if node.leadership is None or ready.hard_state is not None:
            return []
        return heartbeats.requests(node, node.leadership)

    def heartbeat_response_during(self, ready: Ready, message: AnyMessage) -> Addressed | None:
        """The response that a follower may send to a heartbeat while the disk is still busy with this
        Ready."""
        if ready.hard_state is not None or ready.install is not None:
            return None
        return heartbeats.response(self._node, message)

    def done(self, ready: Ready) -> None:
        """Everything in this Ready is durable, and its messages are sent."""
        node = self._node
        if ready.entries:
            node.log.mark_synced(ready.last_index)
            if node.leadership is not None:
                leading.advance_commit(node, node.leadership, self._now)

    def _leadership(self) -> Leadership:
        if self._node.leadership is None:
            raise NotLeader(self._node.leader_id)
        return self._node.leadership
