"""Replicas that go from core to core of one machine, after the number of its cores was changed."""

import time
from collections.abc import Callable, Sequence

from tidelog.base.units import size_text
from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.elect_leaders import Election, elect_leaders
from tidelog.cli.cluster.log_dir_sizes import look_at_log_dirs
from tidelog.cli.cluster.quorum import look_at_quorum
from tidelog.cli.cluster.view import Broker, ClusterView, look_at_brokers, look_at_cluster, numbers_text
from tidelog.cli.cores.pieces import copied_bytes, pieces
from tidelog.cli.cores.spread_mark import SpreadMark
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.calls import alter_reassignments, list_reassignments
from tidelog.cli.reassign.cordons import set_cordons
from tidelog.cli.reassign.plan import Move
from tidelog.cli.reassign.progress import Standing, Tracker
from tidelog.cli.reassign.run import clean_up, sizes_of, wait_until_done
from tidelog.cli.reassign.throttle import set_throttle
from tidelog.clients.records import TopicPartition
from tidelog.metadata.leaders.layout import PlacedPartition
from tidelog.metadata.leaders.spread import plan_spread

LOOKS_MAX = 5
"""How often new replicas are looked for that were placed before the cordon was known everywhere."""

LEADER_PATIENCE_S = 30.0
LOOK_S = 0.2
SAY_EVERY_S = 10.0

Say = Callable[[str], None]


def fill_new_cores(
    direct: DirectCluster, cores: Sequence[int], rate: int, say: Say, mark: SpreadMark
) -> None:
    """Cores that hold nothing get their share of what the others hold. The mark is there until it is done."""
    view = look_at_cluster(direct)
    held = dict.fromkeys(cores, 0)
    for partition in view.partitions.values():
        for core in held.keys() & partition.replicas:
            held[core] += 1
    was_interrupted = mark.is_set
    if min(held.values()) > 0 and not was_interrupted:
        return
    moves = _planned(direct, view, cores)
    if moves:
        mark.set()
        say(f"{len(moves)} of {sum(held.values())} replicas move to other cores of this machine.")
        _carry_out(direct, view, moves, rate, say)
        say("The replicas are spread over the cores.")
    if was_interrupted:
        _clean_up_all(direct, view, cores, rate)
    mark.clear()


def reopen_cores(direct: DirectCluster, cores: Sequence[int]) -> bool:
    """Cores that stay take replicas again, where a start with fewer was given up; says whether any do.

    No start closes the first core: where it is closed, an operator drains the machine.
    """
    view = look_at_brokers(direct)
    stored = look_at_log_dirs(direct, [broker for broker in view.alive if broker.id in cores], [])
    closed = [id for id in cores if id in stored and stored[id].cordoned]
    if not closed or cores[0] in closed:
        return False
    _set_cordons(direct, [view.brokers[id] for id in closed], cordoned=False)
    return True


def empty_cores(
    direct: DirectCluster, cores: Sequence[int], leaving: Sequence[int], rate: int, say: Say
) -> None:
    """The cores that stay take all replicas of those that leave. CliError where they cannot."""
    _refuse_voters(direct, leaving)
    view = look_at_brokers(direct)
    _set_cordons(direct, [view.brokers[id] for id in leaving if id in view.brokers], cordoned=True)
    say(f"The replicas of {_named(leaving)} move to the cores that stay.")
    for _ in range(LOOKS_MAX):
        view = _with_leaders(direct, leaving)
        moves = _planned(direct, view, cores, leaving)
        if not moves:
            _clean_up_all(direct, view, cores, rate)
            return
        _carry_out(direct, view, moves, rate, say)
    raise CliError(
        f"New replicas come to {_named(leaving)} time and again.",
        cause="a reassignment or another tool places them there.",
        attempt="tidelog topic reassign --status",
    )


def _planned(
    direct: DirectCluster, view: ClusterView, cores: Sequence[int], leaving: Sequence[int] = ()
) -> list[Move]:
    """Partitions that move already are waited for: an earlier start or an operator may have begun it, and
    while they move their lists name replicas that are to go."""
    earlier = {
        place: move.adding
        for place, move in list_reassignments(direct).items()
        if not set(cores).isdisjoint(move.replicas)
    }
    if earlier:
        wait_until_done(direct, earlier)
        view = look_at_cluster(direct)
    placed = [PlacedPartition(*place, part.replicas) for place, part in view.partitions.items()]
    return [
        Move(TopicPartition(move.topic, move.partition), move.before, move.after)
        for move in plan_spread(cores, placed, leaving)
    ]


def _carry_out(direct: DirectCluster, view: ClusterView, moves: Sequence[Move], rate: int, say: Say) -> None:
    """A piece after the other. What is refused does not keep the rest back; it is raised at the end."""
    sizes = sizes_of(direct, view, moves)
    progress = _Progress(len(moves), sum(copied_bytes(move, sizes) for move in moves), say)
    refused: dict[TopicPartition, CliError] = {}
    for piece in pieces(moves, sizes):
        refused |= _carry_out_piece(direct, view, piece, rate, progress)
        progress.add(len(piece), sum(copied_bytes(move, sizes) for move in piece))
    if refused:
        raise next(iter(refused.values()))


def _carry_out_piece(
    direct: DirectCluster, view: ClusterView, piece: Sequence[Move], rate: int, progress: "_Progress"
) -> dict[TopicPartition, CliError]:
    if rate:
        set_throttle(direct, view, piece, rate)
    refused = alter_reassignments(direct, {move.place: move.after for move in piece})
    started = [move for move in piece if move.place not in refused]
    if started:
        Tracker(direct, {move.place: move.adding for move in started}).follow(progress.show)
    clean_up(direct, [move.place.topic for move in piece])
    led = [move.place for move in started if move.after[0] != move.before[0]]
    if led:
        elect_leaders(direct, Election.PREFERRED, led)
    return refused


def _clean_up_all(direct: DirectCluster, view: ClusterView, cores: Sequence[int], rate: int) -> None:
    """What an earlier start limited, and was stopped before it could take the limits away."""
    if rate:
        held = {
            place.topic for place, part in view.partitions.items() if not set(cores).isdisjoint(part.replicas)
        }
        clean_up(direct, sorted(held))


class _Progress:
    """A line in the log now and then; the end has a line of its own."""

    def __init__(self, partitions: int, copied: int, say: Say) -> None:
        self._partitions, self._bytes, self._say = partitions, copied, say
        self._partitions_done = self._bytes_done = 0
        self._said_at = time.monotonic()

    def add(self, partitions: int, copied: int) -> None:
        """A piece is done."""
        self._partitions_done += partitions
        self._bytes_done += copied

    def show(self, piece: Standing) -> None:
        if time.monotonic() - self._said_at < SAY_EVERY_S:
            return
        self._said_at = time.monotonic()
        moved = self._partitions_done + piece.partitions_done
        left = max(0, self._bytes - self._bytes_done - piece.bytes_done)
        self._say(f"Moved {moved} of {self._partitions} partitions, {size_text(left)} left.")


def _set_cordons(direct: DirectCluster, brokers: Sequence[Broker], *, cordoned: bool) -> None:
    try:
        set_cordons(direct, brokers, cordoned=cordoned)
    except Disconnected as error:
        raise CliError(
            f"A core of this machine does not answer: {error.reason}.",
            attempt="tidelog cluster brokers",
            code=Exit.UNREACHABLE,
        ) from error


def _refuse_voters(direct: DirectCluster, leaving: Sequence[int]) -> None:
    voters = [member.id for member in look_at_quorum(direct).voters if member.id in leaving]
    if voters:
        raise CliError(
            f"{_named(voters).capitalize()} votes on the cluster's metadata, and cannot leave with its vote.",
            cause="the vote was moved from the first core of the machine by hand.",
            attempt=f"the former number of cores with --cores, then: tidelog cluster drain {voters[0]}",
            code=Exit.REFUSED,
        )


def _with_leaders(direct: DirectCluster, leaving: Sequence[int]) -> ClusterView:
    """A leader that is missing gets some time: brokers have just started, and are being elected."""
    deadline = time.monotonic() + LEADER_PATIENCE_S
    while True:
        view = look_at_cluster(direct)
        stuck = [
            place
            for place, part in view.partitions.items()
            if not set(leaving).isdisjoint(part.replicas) and part.leader is None
        ]
        if not stuck:
            return view
        if time.monotonic() > deadline:
            raise CliError(
                f"{stuck[0]} has no leader, so its replica on {_named(leaving)} cannot be copied.",
                cause=f"{len(stuck)} partition(s) of these cores are without a leader.",
                attempt="the former number of cores with --cores, and tidelog cluster status",
                code=Exit.REFUSED,
            )
        time.sleep(LOOK_S)


def _named(ids: Sequence[int]) -> str:
    return f"broker{'s' if len(ids) > 1 else ''} {numbers_text(ids)}"
