"""Transcripts: a text with commands (`> tick 1`) and what they bring about. `replay` runs the commands and
writes the text anew; a test is that the text stays the same.

    voters 1 2 3 [observers 4]   a new cluster; node n's election timeout is 1.n0 s, its first one 0.2n s
    tick n                       let time pass to what node n waits for; only n notices
    run s                        let s seconds pass on a good network; messages are not shown
    deliver a->b | drop a->b     what waits from a to b (`*` is any node); `double a->b`: deliver and keep
    converge                     deliver everything, and what that brings about; messages are not shown
    isolate a b | heal           what these nodes send or get is lost
    propose n text | read n | transfer n to m | resign n | change n +m | change n -m | compact n
    crash n | restart n | wipe n
    show | voters? n
"""

from collections.abc import Callable

from tests.rigs.raft.cluster import Letter, RaftCluster
from tests.rigs.raft.member import Member
from tests.rigs.raft.wording import disk_letter, entry_words, message_words, standing, voters_words
from tidelog.base.errors import TidelogError
from tidelog.base.ids import NodeId
from tidelog.raft.core import Raft
from tidelog.raft.entries import Voter
from tidelog.raft.settings import RaftSettings

SETTINGS = RaftSettings(message_bytes_max=64, catch_up_entries_max=2, trailing_entries=1)


def replay(text: str) -> str:
    run = Transcript()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            lines += [line, *run.obey(line[2:])]
        elif not line or line.startswith("#"):
            lines.append(line)
    return "\n".join(lines) + "\n"


class FixedRandom:
    """Node 1 is the most impatient one, then node 2 and so on."""

    def __init__(self, node_id: NodeId) -> None:
        self._node_id = node_id

    def bytes(self, count: int) -> bytes:
        return bytes(count)

    def below(self, limit: int) -> int:
        return self._node_id * limit // 10


class Transcript:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._standing: dict[NodeId, str] = {}
        self._applied: dict[NodeId, int] = {}
        self._isolated: tuple[NodeId, ...] = ()
        self._cluster: RaftCluster | None = None

    @property
    def cluster(self) -> RaftCluster:
        if self._cluster is None:
            raise ValueError("a transcript begins with `voters`")
        return self._cluster

    def obey(self, command: str) -> list[str]:
        """What the command brings about, line by line."""
        self._lines = []
        name, *words = command.split()
        action: Callable[..., None] = getattr(self, f"_do_{name.rstrip('?').replace('-', '_')}")
        try:
            action(*words)
        except TidelogError as error:
            self._lines.append(f"{type(error).__name__}: {error}")
        self._look()
        return self._lines

    def _do_voters(self, *words: str) -> None:
        if self._cluster is not None:
            self._lines.append(voters_words(self._node(words[0]).configuration))
            return
        voters, _, observers = " ".join(words).partition("observers")
        self._cluster = RaftCluster(
            [int(word) for word in voters.split()],
            FixedRandom,
            observers=[int(word) for word in observers.split()],
            settings=SETTINGS,
        )

    def _node(self, word: str) -> Raft:
        raft = self.cluster.raft(int(word))
        if raft is None:
            raise ValueError(f"node {word} is down")
        return raft

    def _pump(self, word: str | NodeId, *, show: bool = True) -> None:
        cluster = self.cluster
        before = len(cluster.letters)
        cluster.pump(int(word))
        fresh = cluster.letters[before:]
        cluster.letters[before:] = [letter for letter in fresh if not self._is_isolated(letter)]
        self._look()
        if show:
            for letter in fresh:
                lost = " (lost)" if self._is_isolated(letter) else ""
                self._lines.append(f"{letter.sender}->{letter.to} {message_words(letter.message())}{lost}")

    def _is_isolated(self, letter: Letter) -> bool:
        return letter.sender in self._isolated or letter.to in self._isolated

    def _look(self) -> None:
        """Say what has changed."""
        for member in self.cluster.members.values():
            now = "down" if member.raft is None else standing(member.raft)
            if self._standing.setdefault(member.id, now) != now:
                self._standing[member.id] = now
                self._lines.append(f"{member.id}: {now}")
            self._tell_state(member)

    def _tell_state(self, member: Member) -> None:
        shown = self._applied.get(member.id, 0)
        if len(member.state) > shown:
            text = b" ".join(member.state[shown:]).decode()
            self._lines.append(f"{member.id}: applies {text if len(text) < 80 else f'{len(text)} bytes'}")
        self._applied[member.id] = len(member.state)
        for result in member.reads:
            self._lines.append(f"{member.id}: read {result.ticket.number} at {result.index}")
        member.reads.clear()

    def _do_tick(self, word: str) -> None:
        raft = self._node(word)
        self.cluster.now = max(self.cluster.now, raft.next_deadline)
        raft.tick(self.cluster.now)
        self._pump(word)

    def _do_run(self, seconds: str) -> None:
        self.cluster.run(float(seconds), self._is_isolated)

    def _do_converge(self) -> None:
        self.cluster.run(0.0, self._is_isolated)

    def _take(self, path: str) -> list[Letter]:
        sender, to = path.split("->")
        return [
            letter
            for letter in self.cluster.letters
            if sender in ("*", str(letter.sender)) and to in ("*", str(letter.to))
        ]

    def _do_deliver(self, path: str) -> None:
        for letter in self._take(path):
            self.cluster.letters.remove(letter)
            self.cluster.deliver(letter)
            self._pump(letter.to)

    def _do_double(self, path: str) -> None:
        for letter in self._take(path):
            self.cluster.deliver(letter)
            self._pump(letter.to)

    def _do_drop(self, path: str) -> None:
        for letter in self._take(path):
            self.cluster.letters.remove(letter)

    def _do_isolate(self, *words: str) -> None:
        self._isolated = tuple(int(word) for word in words)

    def _do_heal(self) -> None:
        self._isolated = ()

    def _do_propose(self, word: str, *texts: str) -> None:
        for text in texts:
            self._node(word).propose(text.encode(), self.cluster.now)
        self._pump(word)

    def _do_fill(self, word: str, count: str) -> None:
        for number in range(int(count)):
            self._node(word).propose(f"{number:030}".encode(), self.cluster.now)
        self._pump(word)

    def _do_read(self, word: str) -> None:
        self._node(word).read_index(self.cluster.now)
        self._pump(word)

    def _do_transfer(self, word: str, _to: str, target: str) -> None:
        to = None if target == "best" else int(target)
        self._node(word).transfer_leadership(to, self.cluster.now)
        self._pump(word)

    def _do_resign(self, word: str) -> None:
        self._node(word).resign(self.cluster.now)
        self._pump(word)

    def _do_change(self, word: str, change: str) -> None:
        raft = self._node(word)
        node_id = int(change[1:])
        wanted = raft.configuration.without(node_id)
        if change[0] == "+":
            wanted = raft.configuration.with_voter(Voter(node_id, f"host:{9000 + node_id}"))
        raft.change_voters(wanted, self.cluster.now)
        self._pump(word)

    def _do_compact(self, word: str) -> None:
        member = self.cluster.members[int(word)]
        member.compact()
        self._lines.append(f"{word}: snapshot at {member.disk.base[0]}")

    def _do_crash(self, word: str) -> None:
        self.cluster.crash(int(word))

    def _do_restart(self, word: str) -> None:
        self.cluster.restart(int(word))
        self._applied[int(word)] = len(self.cluster.members[int(word)].state)
        self._pump(word)

    def _do_wipe(self, word: str) -> None:
        self.cluster.wipe(int(word))

    def _do_show(self) -> None:
        for member in self.cluster.members.values():
            base = "" if member.disk.snapshot is None else f"snapshot {member.disk.base[0]} "
            log = " ".join(entry_words(entry) for entry in member.disk.entries)
            commit = "down" if member.raft is None else f"commit {member.raft.commit_index}"
            self._lines.append(f"{member.id}{disk_letter(member.disk.storage)}: {base}[{log}] {commit}")
