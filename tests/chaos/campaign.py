"""A cluster, its clients and its nemesis for one run; and everything that must hold when it is over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.crowd import Crowd
from tests.chaos.java_copier import OUTPUT as JAVA_OUTPUT
from tests.chaos.nemesis import Nemesis
from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.queues.queue_crowd import QUEUE, QueueCrowd
from tests.chaos.replica_files import differing_replicas
from tests.chaos.transactional_crowd import JOURNAL, OUTPUT, TransactionalCrowd

TOPIC = "t"
PARTITIONS = 3
CRASH = "crash_client"
"""A fault, too: a client that is a process is killed, and another takes its place."""
SURPRISES = ("Traceback", "DAMAGED", "could not be acted on")
"""What no fault may bring a broker to write into its log."""


class Campaign:
    """`copies_in`: a directory for clients that copy in transactions; `queues_in`: one for members of share
    groups. These run instead of the others."""

    def __init__(
        self,
        cluster: ProcessCluster,
        seed: object,
        *,
        longest_s: float,
        copies_in: Path | None = None,
        queues_in: Path | None = None,
        java: bool = False,
        nemesis: type[Nemesis] = Nemesis,
    ) -> None:
        self.cluster = cluster
        self.topics = [TOPIC] if copies_in is None else [TOPIC, OUTPUT, JOURNAL]
        self.topics += [JAVA_OUTPUT] if java else []
        self.crowd: Crowd | TransactionalCrowd | QueueCrowd
        if queues_in is not None:
            self.topics = [QUEUE]
            self.crowd = QueueCrowd(cluster, queues_in, PARTITIONS, seed=seed)
        elif copies_in is None:
            self.crowd = Crowd(cluster, [(TOPIC, index) for index in range(PARTITIONS)])
        else:
            self.crowd = TransactionalCrowd(cluster, copies_in, PARTITIONS, java=java, seed=seed)
        self.nemesis = nemesis(cluster, seed, longest_s=longest_s)

    def begin(self) -> None:
        for topic in self.topics:
            self.cluster.create_topic(topic, PARTITIONS)
        self.crowd.start()
        self.crowd.until_writing()

    def strike(self, *kinds: str) -> None:
        """Faults at once; when this returns the producers have gone on, and the cluster is whole."""
        if CRASH in kinds and isinstance(self.crowd, TransactionalCrowd | QueueCrowd):
            self.crowd.crash_one()
        self.nemesis.strike(*(kind for kind in kinds if kind != CRASH))
        self.crowd.until_writing()
        self.cluster.until_ready()
        self.cluster.until_whole()

    def problems(self) -> list[str]:
        """The clients finish, the brokers stop; all that is wrong with what they saw and left behind."""
        self.crowd.finish()
        found = self.crowd.problems()
        self.cluster.until_whole()
        return found + list(self._left_behind())

    def _left_behind(self) -> Iterator[str]:
        members = self.cluster.members.values()
        for member in members:
            if (code := member.terminate()) != 0:
                yield f"broker {member.node_id} ended with {code}: {member.log_tail()}"
        for topic in self.topics:
            for index in range(PARTITIONS):
                partition = f"{topic}-{index}"
                directories = [member.replica_directory(partition) for member in members]
                yield from differing_replicas(directories, partition)
        for member in members:
            text = member.log_text()
            for word in SURPRISES:
                if word in text:
                    yield f"broker {member.node_id} wrote: {text[text.index(word) - 500 :][:3000]}"


@contextmanager
def campaign(
    cluster: ProcessCluster,
    seed: object,
    *,
    longest_s: float,
    copies_in: Path | None = None,
    queues_in: Path | None = None,
    nemesis: type[Nemesis] = Nemesis,
) -> Iterator[Campaign]:
    run = Campaign(
        cluster, seed, longest_s=longest_s, copies_in=copies_in, queues_in=queues_in, nemesis=nemesis
    )
    try:
        yield run
    finally:
        run.crowd.abandon()


def run_faults(
    cluster: ProcessCluster,
    kinds: list[str],
    seed: object,
    *,
    longest_s: float = 3.0,
    copies_in: Path | None = None,
    queues_in: Path | None = None,
    nemesis: type[Nemesis] = Nemesis,
    tell: Callable = print,
) -> None:
    """The whole of it, for tests: nothing may be wrong at the end. `a+b` are two faults at once."""
    with campaign(
        cluster, seed, longest_s=longest_s, copies_in=copies_in, queues_in=queues_in, nemesis=nemesis
    ) as run:
        run.begin()
        for kind in kinds:
            run.strike(*kind.split("+"))
            tell(f"{kind}: {run.crowd.summary()}")
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])
