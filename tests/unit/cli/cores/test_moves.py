"""What a start with another number of cores asks of the cluster."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.log_dir_sizes import Stored
from tidelog.cli.cluster.quorum import Member as Voter
from tidelog.cli.cluster.quorum import Quorum
from tidelog.cli.cluster.view import Broker, ClusterView, Partition
from tidelog.cli.cores import moves
from tidelog.cli.cores.pieces import BYTES_MAX, PARTITIONS_MAX, pieces
from tidelog.cli.cores.spread_mark import SpreadMark
from tidelog.cli.exits import CliError
from tidelog.cli.reassign.calls import Ongoing
from tidelog.cli.reassign.plan import Move
from tidelog.cli.reassign.progress import Standing
from tidelog.clients.records import TopicPartition

CORES = (1, 1001)
PLACE = TopicPartition("orders", 0)
DIRECT: Any = None


def view_of(replicas: tuple[int, ...], leader: int | None = 2) -> ClusterView:
    brokers = {id: Broker(id, "host", 9000 + id % 1000) for id in (1, 2, 3, 1001)}
    return ClusterView("c", 1, brokers, {PLACE: Partition(PLACE, leader, replicas, replicas)})


class Cluster:
    """Answers from what a test sets, and keeps what it is told."""

    def __init__(self) -> None:
        self.views: Iterator[ClusterView] | None = None
        self.view = view_of((1, 2))
        self.cordoned: set[int] = set()
        self.ongoing: dict[TopicPartition, Ongoing] = {}
        self.voters: tuple[int, ...] = (1,)
        self.wanted: dict[TopicPartition, tuple[int, ...]] = {}
        self.seconds = 0.0
        self.sizes: dict[TopicPartition, int] = {}
        self.pieces: list[list[TopicPartition]] = []
        self.refuses_cordons = False
        self.cleaned: list[list[str]] = []

    def look(self, *_: Any) -> ClusterView:
        if self.views is not None:
            self.view = next(self.views, self.view)
        return self.view

    def stored(self, _: Any, brokers: Sequence[Broker], __: Any) -> dict[int, Stored]:
        return {broker.id: Stored(cordoned=broker.id in self.cordoned) for broker in brokers}

    def set_cordons(self, _: Any, brokers: Sequence[Broker], *, cordoned: bool) -> None:
        if self.refuses_cordons:
            raise Disconnected("host:9001: it hung up")
        ids = {broker.id for broker in brokers}
        self.cordoned = self.cordoned | ids if cordoned else self.cordoned - ids

    def wait(self, _: Any, copies: dict[TopicPartition, Any]) -> None:
        for place in copies:
            if place in self.ongoing:
                self.view = view_of(self.ongoing.pop(place).target)
            else:
                self.view = view_of(self.wanted[place])

    def tracker(self, direct: Any, copies: dict[TopicPartition, Any]) -> Any:
        def follow(show: Any) -> None:
            self.pieces.append(list(copies))
            self.seconds += moves.SAY_EVERY_S
            show(Standing(len(copies), 1, 100, 40))
            self.wait(direct, copies)

        return SimpleNamespace(follow=follow)

    def alter(self, _: Any, wanted: dict[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, CliError]:
        self.wanted |= wanted
        return {}

    def quorum(self, _: Any) -> Quorum:
        return Quorum(1, 1, 1, tuple(Voter(id, True, bytes(16), 1, None, None, ()) for id in self.voters))

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    for name, answer in (
        ("look_at_brokers", cluster.look),
        ("look_at_cluster", cluster.look),
        ("look_at_log_dirs", cluster.stored),
        ("look_at_quorum", cluster.quorum),
        ("set_cordons", cluster.set_cordons),
        ("list_reassignments", lambda _: dict(cluster.ongoing)),
        ("wait_until_done", cluster.wait),
        ("alter_reassignments", cluster.alter),
        ("elect_leaders", lambda *_: None),
        ("sizes_of", lambda *_: dict(cluster.sizes)),
        ("clean_up", lambda _, topics: cluster.cleaned.append(list(topics))),
        ("Tracker", cluster.tracker),
    ):
        monkeypatch.setattr(moves, name, answer)
    monkeypatch.setattr("time.monotonic", lambda: cluster.seconds)
    monkeypatch.setattr("time.sleep", cluster.sleep)
    return cluster


def empty() -> None:
    moves.empty_cores(DIRECT, CORES, (1001,), 0, lambda _: None)


def test_a_core_that_was_to_leave_and_stays_takes_replicas_again(cluster: Cluster) -> None:
    cluster.cordoned = {1001, 3}
    assert moves.reopen_cores(DIRECT, CORES)
    assert cluster.cordoned == {3}, "broker 3 is of another machine"


def test_a_machine_that_an_operator_drains_stays_closed(cluster: Cluster) -> None:
    cluster.cordoned = {1, 1001}
    assert not moves.reopen_cores(DIRECT, CORES)
    assert cluster.cordoned == {1, 1001}


def test_a_core_that_is_away_is_an_error_for_people(cluster: Cluster) -> None:
    cluster.refuses_cordons = True
    with pytest.raises(CliError, match="does not answer"):
        empty()


def test_a_core_leaves_with_all_it_holds(cluster: Cluster) -> None:
    cluster.view = view_of((2, 1001))
    empty()
    assert cluster.wanted == {PLACE: (2, 1)}
    assert cluster.cordoned == {1001}


def test_a_core_does_not_leave_with_a_vote(cluster: Cluster) -> None:
    cluster.voters = (1001,)
    with pytest.raises(CliError, match="Broker 1001 votes") as refused:
        empty()
    assert "tidelog cluster drain 1001" in str(refused.value.attempt)
    assert cluster.cordoned == set()


def test_the_move_of_an_operator_ends_first(cluster: Cluster) -> None:
    """While it runs the list names a replica too many, which would stay for good."""
    cluster.view = view_of((2, 3, 1001))
    cluster.ongoing = {PLACE: Ongoing(PLACE, (2, 3, 1001), (3,), (1001,))}
    empty()
    assert cluster.wanted == {}


def test_a_leader_that_comes_late_is_waited_for(cluster: Cluster) -> None:
    cluster.views = iter([view_of((1001,), None), view_of((1001,), None), view_of((1001,), 1001)])
    empty()
    assert cluster.wanted == {PLACE: (1,)}


def test_without_a_leader_a_core_stays(cluster: Cluster) -> None:
    cluster.view = view_of((1001,), None)
    with pytest.raises(CliError, match="has no leader"):
        empty()
    assert cluster.seconds >= moves.LEADER_PATIENCE_S


def test_pieces_are_bounded_by_partitions_and_by_bytes() -> None:
    small = [Move(TopicPartition("t", number), (1,), (1001,)) for number in range(PARTITIONS_MAX + 1)]
    assert [len(piece) for piece in pieces(small, {})] == [PARTITIONS_MAX, 1]
    large = {small[0].place: 2 * BYTES_MAX, small[1].place: BYTES_MAX, small[2].place: 1}
    assert [len(piece) for piece in pieces(small[:4], large)] == [1, 1, 2]
    assert list(pieces([], {})) == []


def test_progress_counts_the_pieces_before(cluster: Cluster) -> None:
    places = [TopicPartition("orders", number) for number in range(2)]
    said: list[str] = []
    cluster.sizes = dict.fromkeys(places, BYTES_MAX)
    found = [Move(place, (1001,), (1,)) for place in places]
    moves._carry_out(DIRECT, cluster.view, found, 0, said.append)
    assert cluster.pieces == [[places[0]], [places[1]]]
    assert said == ["Moved 1 of 2 partitions, 2 GiB left.", "Moved 2 of 2 partitions, 1024 MiB left."]


def test_spreading_that_was_cut_short_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    """The new core holds something already, so only the mark tells."""
    places = [TopicPartition("orders", number) for number in range(4)]
    brokers = cluster.view.brokers
    led = {place: Partition(place, 1, (1,), (1,)) for place in places[:3]}
    led[places[3]] = Partition(places[3], 1001, (1001,), (1001,))
    cluster.view = ClusterView("c", 1, brokers, led)
    mark = SpreadMark([str(tmp_path)])
    moves.fill_new_cores(DIRECT, CORES, 0, lambda _: None, mark)
    assert cluster.wanted == {}
    mark.set()
    moves.fill_new_cores(DIRECT, CORES, 0, lambda _: None, mark)
    assert list(cluster.wanted.values()) == [(1001,)]
    assert not mark.is_set


def test_limits_of_a_start_that_was_cut_short_are_taken_away(cluster: Cluster, tmp_path: Path) -> None:
    """Its copies are complete, so there is nothing left to move."""
    mark = SpreadMark([str(tmp_path)])
    mark.set()
    cluster.view = view_of((2, 1))
    moves.fill_new_cores(DIRECT, (1,), 1000, lambda _: None, mark)
    assert cluster.cleaned == [["orders"]]
    moves.empty_cores(DIRECT, CORES, (1001,), 1000, lambda _: None)
    assert cluster.cleaned == [["orders"]] * 2
    empty()
    assert cluster.cleaned == [["orders"]] * 2, "without a rate no start has set limits"
