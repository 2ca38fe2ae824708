"""The state of one node, shared by the files that each hold one part of the rules.

Steps of the algorithm are functions on it: `election.py`, `leading.py`, `following.py`, `membership.py`,
`reads.py`, `transfer.py`. Here are only the fields and the transitions that all of them need.
"""

from enum import Enum

from tidelog.base.ids import NodeId, Uuid
from tidelog.base.ports import Random
from tidelog.raft.configurations import Configurations
from tidelog.raft.entries import Configuration, Entry, Index, Term, Voter
from tidelog.raft.incoming_snapshot import IncomingSnapshot
from tidelog.raft.leadership import Leadership
from tidelog.raft.log import RaftLog
from tidelog.raft.messages import Addressed, AnyMessage
from tidelog.raft.ready import HardState, ReadResult, Restored, Snapshot, SnapshotSource
from tidelog.raft.settings import RaftSettings

TIMEOUT_STEPS = 1000
"""Election timeouts are randomised in so many steps."""


class Role(Enum):
    OBSERVER = "observer"
    FOLLOWER = "follower"
    PRE_CANDIDATE = "pre-candidate"
    CANDIDATE = "candidate"
    LEADER = "leader"


IMPOSTOR_TIMEOUTS = 2
"""After this many election timeouts without contact, a voter may have lost its disk and returned with
another."""


class RaftNode:
    def __init__(
        self,
        *,
        node_id: NodeId,
        storage: Uuid,
        address: str,
        restored: Restored,
        settings: RaftSettings,
        random: Random,
        snapshot_source: SnapshotSource,
        seeds: tuple[Voter, ...],
    ) -> None:
        self.id = node_id
        self.storage = storage
        self.address = address
        self.settings = settings
        self.random = random
        self.snapshot_source = snapshot_source
        self.seeds = seeds

        self.term: Term = restored.term
        self.voted_for: NodeId | None = restored.voted_for
        self.voted_storage: Uuid | None = None
        """The disk of the candidate that we voted for in this term, since this process began."""
        self.saved = HardState(restored.term, restored.voted_for)
        self.log = RaftLog(restored.snapshot_index, restored.snapshot_term, restored.entries)
        self.configurations = Configurations(
            node_id, storage, restored.snapshot_index, restored.configuration
        )
        for place, entry in enumerate(restored.entries, restored.snapshot_index + 1):
            self.configurations.appended(place, entry)
        self.commit_index: Index = restored.snapshot_index
        self.applied_index: Index = restored.snapshot_index
        """Everything up to here was handed to the shell to apply."""

        self.elections = 0
        """Those that this node began, pre-votes not counted."""
        self.role = Role.FOLLOWER
        self.leader_id: NodeId | None = None
        self.addresses: dict[NodeId, str] = {}
        """The addresses that nodes announced for themselves."""
        self.heard_from_voter_at: dict[NodeId, float] = {}
        """When each voter last sent a message from the disk that holds its seat."""
        self.heard_from_leader_at = float("-inf")
        self.deadline = 0.0
        """When to start an election, or as an observer to look for the leader. Not used while leading."""
        self.timeout = self.draw_timeout()
        self.votes: dict[NodeId, Uuid | None] = {}
        """Responses of recognized voters to our (pre-)vote request: the disk that granted it, or None."""
        self.leadership: Leadership | None = None
        self.incoming: IncomingSnapshot | None = None

        self.outbox: list[Addressed] = []
        self.install: Snapshot | None = None
        self.read_results: list[ReadResult] = []

    def is_impostor(self, sender: NodeId, storage: Uuid, now: float) -> bool:
        """Whether the message comes from another disk than that of a live voter: a second process with its
        id."""
        voter = self.configuration.find(sender)
        if voter is None or voter.storage is None:
            return False
        if voter.storage == storage:
            self.heard_from_voter_at[sender] = now
            return False
        record_contact = self.heard_from_voter_at.get(sender)
        return (
            record_contact is not None
            and now - record_contact < IMPOSTOR_TIMEOUTS * self.settings.election_timeout
        )

    @property
    def configuration(self) -> Configuration:
        return self.configurations.current

    @property
    def counted(self) -> tuple[Voter, ...]:
        return self.configurations.counted

    @property
    def is_voter(self) -> bool:
        return self.configurations.is_voter

    @property
    def may_campaign(self) -> bool:
        """A voter; or one that the configuration in force removes, until that is committed: its log may be
        the only one with that entry, and then it is the only node that can win."""
        configurations = self.configurations
        if configurations.is_voter:
            return True
        return configurations.was_voter and configurations.current_index > self.commit_index

    @property
    def hard_state(self) -> HardState:
        return HardState(self.term, self.voted_for)

    def recognizes(self, node_id: NodeId, storage: Uuid) -> bool:
        return self.configurations.recognizes(node_id, storage)

    def learn_address(self, node_id: NodeId, address: str) -> None:
        if node_id in self.addresses or len(self.addresses) < self.settings.observers_max:
            self.addresses[node_id] = address

    def address_of(self, node_id: NodeId) -> str | None:
        """The address that the node announced; else that in the settings; else that in the log, which may be
        old."""
        record_contact = self.addresses.get(node_id)
        if record_contact is not None:
            return record_contact
        known = (*self.seeds, *self.configuration.voters)
        return next((voter.address for voter in known if voter.id == node_id), None)

    def send(self, to: NodeId, message: AnyMessage) -> None:
        self.outbox.append((to, message))

    def append(self, entries: list[Entry]) -> None:
        """The only place where the log grows."""
        first = self.log.last_index + 1
        self.log.append(entries)
        for index, entry in enumerate(entries, first):
            self.configurations.appended(index, entry)

    def truncate_from(self, index: Index) -> None:
        self.log.truncate_from(index)
        self.configurations.truncated_from(index)

    def enter_term(self, term: Term) -> None:
        self.term = term
        self.voted_for = None
        self.voted_storage = None

    def follow(self, leader_id: NodeId | None, now: float) -> None:
        """Become a follower in the current term."""
        if self.role is not Role.FOLLOWER:
            self.role = Role.FOLLOWER
            self.votes.clear()
            self._stop_leading()
            self.restart_timer(now)
        self.leader_id = leader_id

    def _stop_leading(self) -> None:
        if self.leadership is None:
            return
        self.read_results += [ReadResult(read.ticket, None) for read in self.leadership.reads]
        self.leadership = None

    def hear_from_leader(self, now: float) -> None:
        self.heard_from_leader_at = now
        self.deadline = now + self.wait

    def has_live_leader(self, now: float) -> bool:
        """Requests for votes are then ignored, so that no candidate disrupts a working leader."""
        if self.leadership is not None:
            return True
        return self.leader_id is not None and now < self.heard_from_leader_at + self.settings.election_timeout

    @property
    def wait(self) -> float:
        """How long to wait without a leader."""
        return self.timeout if self.may_campaign else 3 * self.settings.heartbeat_interval

    def restart_timer(self, now: float) -> None:
        self.timeout = self.draw_timeout()
        self.deadline = now + self.wait

    def draw_timeout(self) -> float:
        """From one to two election timeouts, so that voters rarely campaign at once and split the vote."""
        return self.settings.election_timeout * (1 + self.random.below(TIMEOUT_STEPS) / TIMEOUT_STEPS)
