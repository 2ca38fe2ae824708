"""A cluster whose network and time are in the test's hands: messages wait until delivered or dropped."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.rigs.raft.checks import Checks, PromiseBroken
from tests.rigs.raft.member import Member
from tidelog.base.ids import NodeId
from tidelog.base.ports import Random
from tidelog.raft.core import Raft
from tidelog.raft.entries import Configuration, Entry, Index, Voter
from tidelog.raft.messages import Addressed, AnyMessage, FindLeader, PreVote, RequestVote, decode, encode
from tidelog.raft.settings import RaftSettings

TURNS_MAX = 1000
LETTERS_MAX = 10_000
"""So much happens in no time only if something is wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Letter:
    sender: NodeId
    to: NodeId
    data: bytes

    def message(self) -> AnyMessage:
        return decode(self.data)


class RaftCluster:
    def __init__(
        self,
        voters: Iterable[NodeId],
        random_of: Callable[[NodeId], Random],
        *,
        observers: Iterable[NodeId] = (),
        settings: RaftSettings | None = None,
    ) -> None:
        self.now = 0.0
        self.checks = Checks()
        self.letters: list[Letter] = []
        self.letters_sent = 0
        self.paused: dict[NodeId, None] = {}
        """Nodes that stand still: up, but without hearing, thinking or noticing that time passes."""
        self._random_of = random_of
        self._settings = settings or RaftSettings()
        self.bootstrap = Configuration(tuple(Voter(voter, f"host:{9000 + voter}") for voter in voters))
        self.members: dict[NodeId, Member] = {}
        for node_id in (*(voter.id for voter in self.bootstrap.voters), *observers):
            self.add(node_id)

    def add(self, node_id: NodeId) -> Member:
        member = Member(node_id, self.bootstrap, self._settings, self._random_of(node_id), self._on_applied)
        self.members[node_id] = member
        member.start(self.now)
        return member

    def _on_applied(self, member: Member, index: Index, entry: Entry) -> None:
        self.checks.applied(member.id, index, entry)

    def raft(self, node_id: NodeId) -> Raft | None:
        return self.members[node_id].raft

    def up(self) -> list[Raft]:
        return [member.raft for member in self.members.values() if member.raft is not None]

    def leader(self) -> Raft | None:
        """The leader of the highest term, if any node leads."""
        leaders = [raft for raft in self.up() if raft.is_leader]
        return max(leaders, key=lambda raft: raft.term, default=None)

    def pump(self, node_id: NodeId) -> None:
        """Obey the node until it has nothing to do; its messages join the waiting ones."""
        member = self.members[node_id]
        turns = 0
        while (ready := member.take_ready()) is not None:
            self.checks.observe(member)
            turns += 1
            if turns > TURNS_MAX:
                raise PromiseBroken(f"node {node_id} never comes to rest")
            self._post(member, member.obey(ready))
        self.checks.observe(member)

    def wait_for_disk(self, node_id: NodeId, *, survives: bool) -> None:
        """The disk takes its time: the node says that it is there, hears what it cannot act on yet, and then
        has it all on the disk, or dies before."""
        member = self.members[node_id]
        ready = member.take_ready()
        if ready is None or member.raft is None:
            return
        self.checks.observe(member)
        if ready.must_sync:
            self._post(member, member.raft.heartbeats_during(ready))
            waiting = [letter.message() for letter in self.letters if letter.to == node_id]
            answers = [member.raft.heartbeat_response_during(ready, message) for message in waiting]
            self._post(member, [answer for answer in answers if answer is not None])
        if survives:
            self._post(member, member.obey(ready))
            self.checks.observe(member)
        else:
            self.crash(node_id)
            self.restart(node_id)

    def _post(self, member: Member, messages: Iterable[Addressed]) -> None:
        for to, message in messages:
            self._check_address(member, to, message)
            self.letters.append(Letter(member.id, to, encode(message)))
            self.letters_sent += 1

    def _check_address(self, member: Member, to: NodeId, message: AnyMessage) -> None:
        """A candidate may ask a node that lost its seat a moment ago. All others must be within reach."""
        is_lost = member.raft is not None and member.raft.address_of(to) is None
        if is_lost and not isinstance(message, PreVote | RequestVote | FindLeader):
            raise PromiseBroken(f"node {member.id} does not know where to send {message}")

    def deliver(self, letter: Letter) -> None:
        """The receiver hears it, but does not act on it before it is pumped."""
        receiver = self.members.get(letter.to)
        if receiver is not None and receiver.raft is not None:
            receiver.raft.step(letter.message(), self.now)

    def tick(self, node_id: NodeId) -> None:
        raft = self.raft(node_id)
        if raft is not None:
            raft.tick(self.now)

    def next_deadline(self) -> float:
        """Of those that are up and not paused."""
        awake = (member for member in self.members.values() if member.id not in self.paused)
        return min(
            (member.raft.next_deadline for member in awake if member.raft is not None), default=math.inf
        )

    def crash(self, node_id: NodeId) -> None:
        self.members[node_id].crash()

    def restart(self, node_id: NodeId) -> None:
        self.members[node_id].start(self.now)

    def wipe(self, node_id: NodeId) -> None:
        """Crash, and lose the log dir."""
        self.crash(node_id)
        self.members[node_id].new_disk()

    def run(self, seconds: float, is_isolated: Callable[[Letter], bool] = lambda _: False) -> None:
        """Let time pass on a network without delay, but for what is isolated."""
        end = self.now + seconds
        while True:
            self._converge(is_isolated)
            deadline = self.next_deadline()
            if deadline > end:
                break
            self.now = max(self.now, deadline)
            for node_id in self._awake():
                self.tick(node_id)
        self.now = end

    def _converge(self, is_isolated: Callable[[Letter], bool]) -> None:
        awake = self._awake()
        for node_id in awake:
            self.pump(node_id)
        delivered = 0
        while self.letters:
            letter = self.letters.pop(0)
            delivered += 1
            if delivered > LETTERS_MAX:
                raise PromiseBroken("messages beget messages without end")
            if not is_isolated(letter) and letter.to in awake:
                self.deliver(letter)
                self.pump(letter.to)

    def _awake(self) -> list[NodeId]:
        return [node_id for node_id in self.members if node_id not in self.paused]
