"""A cluster, its clients and its nemesis for one run; and everything that must hold when it is over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crowd import Crowd
from nemesis import Nemesis
from process_cluster import ProcessCluster
from replica_files import differing_replicas

TOPIC = "t"
PARTITIONS = 3
SURPRISES = ("Traceback", "DAMAGED", "could not be acted on")
"""What no fault may bring a broker to write into its log."""


class Campaign:
    def __init__(self, cluster: ProcessCluster, seed: object, *, longest_s: float) -> None:
        self.cluster = cluster
        self.crowd = Crowd(cluster, [(TOPIC, index) for index in range(PARTITIONS)])
        self.nemesis = Nemesis(cluster, seed, longest_s=longest_s)

    def begin(self) -> None:
        self.cluster.create_topic(TOPIC, PARTITIONS)
        self.crowd.start()
        self.crowd.until_writing()

    def strike(self, *kinds: str) -> None:
        """Faults at once; when this returns the producers have gone on, and the cluster is whole."""
        self.nemesis.strike(*kinds)
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
        folders = [member.data_seen_from_outside for member in members]
        for index in range(PARTITIONS):
            yield from differing_replicas(folders, f"{TOPIC}-{index}")
        for member in members:
            text = member.log_text()
            for word in SURPRISES:
                if word in text:
                    yield f"broker {member.node_id} wrote: {text[text.index(word) - 500 :][:3000]}"


@contextmanager
def campaign(cluster: ProcessCluster, seed: object, *, longest_s: float) -> Iterator[Campaign]:
    run = Campaign(cluster, seed, longest_s=longest_s)
    try:
        yield run
    finally:
        run.crowd.abandon()


def run_faults(
    cluster: ProcessCluster, kinds: list[str], seed: object, *, longest_s: float = 3.0, tell: Callable = print
) -> None:
    """The whole of it, for tests: nothing may be wrong at the end."""
    with campaign(cluster, seed, longest_s=longest_s) as run:
        run.begin()
        for kind in kinds:
            run.strike(kind)
            tell(f"{kind}: {run.crowd.summary()}")
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])
