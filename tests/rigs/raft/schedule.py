"""Random schedules: messages lost, doubled and reordered, nodes crashed before their disk was written,
restarted, wiped; proposals, reads, transfers, new voters and snapshots in between. Then everything heals.

All of it follows from one seed. What must hold at every step is in `checks.py`; what must hold once all is
healed is in `heal_and_converge`.
"""

import random

from tests.rigs.raft.checks import PromiseBroken
from tests.rigs.raft.cluster import Letter, RaftCluster
from tidelog.base.ids import NodeId
from tidelog.raft.core import Raft
from tidelog.raft.entries import NO_INDEX, Configuration, EntryKind, Voter
from tidelog.raft.errors import ChangeRefused, NotLeader
from tidelog.raft.ready import ReadTicket
from tidelog.raft.settings import RaftSettings

SETTINGS = RaftSettings(
    message_bytes_max=64, window_bytes=256, window_entries=8, catch_up_entries_max=3, trailing_entries=2
)
"""Small windows and chunks, so that short schedules meet their edges."""
LETTERS_MAX = 60
CONVERGENCE_SECONDS = 20.0


class SeededRandom:
    """Fills the Random port; every node has its own."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


class Schedule:
    def __init__(
        self,
        seed: int,
        voters: int = 3,
        observers: int = 1,
        *,
        is_wild: bool = True,
        loses_disks: bool = True,
    ) -> None:
        """`is_wild`: with membership changes and, if it `loses_disks`, wipes; else only what every Raft must
        bear."""
        self.random = random.Random(seed)
        self.cluster = RaftCluster(
            range(1, voters + 1),
            lambda node_id: SeededRandom(f"{seed}/{node_id}"),
            observers=range(voters + 1, voters + observers + 1),
            settings=SETTINGS,
        )
        self._voters_min = 2 if loses_disks else 1
        self._asked: dict[tuple[NodeId, ReadTicket], int] = {}
        self._proposals = 0
        self.seen: set[str] = set()
        """What rare things this schedule has met."""
        self._island: list[NodeId] = []
        """Nothing gets from here to the others, or from them to here."""
        chances = [
            (self._deliver, 50),
            (self._pump, 35),
            (self._slow_disk, 12),
            (self._pass_time, 12),
            (self._propose, 6),
            (self._drop, 5),
            (self._double, 2),
            (self._restart, 3),
            (self._crash, 1),
            (self._compact, 1),
            (self._read, 2),
            (self._transfer, 0.3),
            (self._bounce, 1),
            (self._isolate, 0.7),
            (self._pause, 0.7),
            (self._mend, 1),
            (self._burst, 2),
        ]
        if is_wild:
            chances.append((self._change, 1))
        if is_wild and loses_disks:
            chances.append((self._wipe, 0.4))
        self._actions = [action for action, _ in chances]
        self._weights = [weight for _, weight in chances]

    def run(self, steps: int) -> None:
        # A cluster is born with all its voters present, so let it be born first, most of the time.
        if self.random.random() < 0.8:
            self.cluster.run(3.0)
        for action in self.random.choices(self._actions, self._weights, k=steps):
            action()
            self._check_reads()
        self.cluster.checks.logs_match(self.cluster.members.values())

    def _any_node(self) -> NodeId:
        return self.random.choice(list(self.cluster.members))

    def _any_leader(self) -> Raft | None:
        leaders = [raft for raft in self.cluster.up() if raft.is_leader]
        return self.random.choice(leaders) if leaders else None

    def _deliver(self) -> None:
        letters = self.cluster.letters
        if letters:
            # Mostly in order, as on a connection; sometimes not.
            place = 0 if self.random.random() < 0.6 else self.random.randrange(len(letters))
            letter = letters.pop(place)
            if not self._is_isolated(letter) and letter.to not in self.cluster.paused:
                self.cluster.deliver(letter)

    def _drop(self) -> None:
        letters = self.cluster.letters
        if letters:
            letters.pop(self.random.randrange(len(letters)))

    def _double(self) -> None:
        letters = self.cluster.letters
        if letters:
            letters.insert(self.random.randrange(len(letters)), self.random.choice(letters))

    def _pump(self) -> None:
        self.cluster.pump(self._any_node())
        while len(self.cluster.letters) > LETTERS_MAX:
            self._drop()

    def _slow_disk(self) -> None:
        node_id = self._any_node()
        survives = self.random.random() < 0.7
        if not survives:
            self._forget_reads(node_id)
        self.cluster.wait_for_disk(node_id, survives=survives)

    def _burst(self) -> None:
        """A while without loss, but for isolated nodes: elections end, entries get through."""
        self.cluster.run(self.random.choice([0.3, 1.0, 3.0]), self._is_isolated)

    def _is_isolated(self, letter: Letter) -> bool:
        return (letter.sender in self._island) != (letter.to in self._island)

    def _isolate(self) -> None:
        count = self.random.randrange(1, len(self.cluster.members))
        self._island = self.random.sample(list(self.cluster.members), count)

    def _pause(self) -> None:
        self.cluster.paused[self._any_node()] = None

    def _mend(self) -> None:
        self._island = []
        self.cluster.paused.clear()

    def _bounce(self) -> None:
        """Crash and be back at once: what was not on the disk is gone."""
        node_id = self._any_node()
        self._forget_reads(node_id)
        self.cluster.crash(node_id)
        self.cluster.restart(node_id)

    def _pass_time(self) -> None:
        self.cluster.now += self.random.choice([0.01, 0.05, 0.2, 0.7])
        for node_id in self.cluster.members:
            if node_id not in self.cluster.paused and self.random.random() < 0.8:
                self.cluster.tick(node_id)

    def _propose(self) -> None:
        leader = self._any_leader()
        if leader is not None:
            self._proposals += 1
            data = f"{self._proposals}".encode() * self.random.choice([1, 1, 1, 30])
            try:
                leader.propose(data, self.cluster.now)
            except NotLeader:
                pass

    def _crash(self) -> None:
        node_id = self._any_node()
        self._forget_reads(node_id)
        self.cluster.crash(node_id)

    def _restart(self) -> None:
        down = [member.id for member in self.cluster.members.values() if member.raft is None]
        if down:
            self.cluster.restart(self.random.choice(down))

    def _compact(self) -> None:
        self.cluster.members[self._any_node()].compact()

    def _read(self) -> None:
        leader = self._any_leader()
        if leader is not None and leader.leader_id is not None:
            ticket = leader.read_index(self.cluster.now)
            floor = max(self.cluster.checks.committed, default=NO_INDEX)
            self._asked[leader.leader_id, ticket] = floor

    def _check_reads(self) -> None:
        for member in self.cluster.members.values():
            if member.raft is None:
                continue
            for result in member.reads:
                floor = self._asked.pop((member.id, result.ticket), NO_INDEX)
                if result.index is not None and result.index < floor:
                    raise PromiseBroken(f"a read at {result.index}, though {floor} was committed before it")
            member.reads.clear()

    def _forget_reads(self, node_id: NodeId) -> None:
        self._asked = {key: floor for key, floor in self._asked.items() if key[0] != node_id}

    def _transfer(self) -> None:
        leader = self._any_leader()
        if leader is not None:
            try:
                leader.transfer_leadership(self.random.choice([None, self._any_node()]), self.cluster.now)
                self.seen.add("transfer")
            except ChangeRefused:
                pass

    def _change(self) -> None:
        leader = self._any_leader()
        if leader is None:
            return
        node_id = self._any_node()
        configuration = leader.configuration
        if configuration.find(node_id) is None:
            wanted = configuration.with_voter(Voter(node_id, f"host:{9000 + node_id}"))
        elif len(configuration.voters) > self._voters_min and self._has_all_disks(leader):
            wanted = configuration.without(node_id)
        else:
            return
        try:
            leader.change_voters(wanted, self.cluster.now)
            self.seen.add("voter added" if wanted.find(node_id) else "voter removed")
        except ChangeRefused:
            pass

    def _wipe(self) -> None:
        """One disk at a time: with a majority of the disks, the data itself would be gone."""
        leader = self.cluster.leader()
        if leader is None or not leader.is_ready_leader:
            return
        if self._has_all_disks(leader) and self._all_agree(leader):
            victim = self._any_node()
            if len(leader.configuration.voters) > 2 or leader.configuration.find(victim) is None:
                self._forget_reads(victim)
                self.cluster.wipe(victim)
                self.seen.add("wipe")

    def _has_all_disks(self, leader: Raft) -> bool:
        """No voter has lost the disk that holds its seat."""
        members = self.cluster.members
        return all(voter.storage == members[voter.id].disk.storage for voter in leader.configuration.voters)

    def _all_agree(self, leader: Raft) -> bool:
        """Every node knows, on its disk, the configuration that is in force."""
        rafts = self.cluster.up()
        return len(rafts) == len(self.cluster.members) and all(
            raft.configuration == leader.configuration for raft in rafts
        )

    def heal_and_converge(self) -> None:
        """With everybody up and a good network, somebody leads, and all apply the same."""
        cluster = self.cluster
        self._mend()
        for member in cluster.members.values():
            if member.raft is None:
                cluster.restart(member.id)
        cluster.run(CONVERGENCE_SECONDS)
        leader = cluster.leader()
        if leader is None or not leader.is_ready_leader:
            raise PromiseBroken("nobody leads, though everybody is up and connected")
        index = leader.propose(b"the end", cluster.now)
        cluster.run(1.0)
        if index not in cluster.checks.committed:
            raise PromiseBroken("a healed cluster does not commit")
        states = {member.id: member.state for member in cluster.members.values()}
        for node_id, state in states.items():
            if state != states[min(states)]:
                raise PromiseBroken(f"the state of node {node_id} differs from that of node {min(states)}")
        cluster.checks.logs_match(cluster.members.values())
        if any(member.installed for member in cluster.members.values()):
            self.seen.add("snapshot installed")
        configurations = [
            Configuration.decode(entry.data)
            for entry in cluster.checks.committed.values()
            if entry.kind is EntryKind.CONFIG
        ]
        if any(voter.vacant for configuration in configurations for voter in configuration.voters):
            self.seen.add("seat vacated")
