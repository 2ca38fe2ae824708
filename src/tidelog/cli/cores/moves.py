"""Replicas that go from core to core of one machine, after the number of its cores was changed."""

import time
from collections.abc import Callable, Mapping, Sequence

from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.elect_leaders import Election, elect_leaders
from tidelog.cli.cluster.log_dir_sizes import look_at_log_dirs
from tidelog.cli.cluster.quorum import look_at_quorum
from tidelog.cli.cluster.view import Broker, ClusterView, look_at_brokers, look_at_cluster, numbers_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.calls import alter_reassignments, list_reassignments
from tidelog.cli.reassign.cordons import set_cordons
from tidelog.cli.reassign.plan import Move
from tidelog.cli.reassign.run import AT_A_TIME, wait_until_done
from tidelog.cli.reassign.throttle import set_throttle
from tidelog.clients.records import TopicPartition
from tidelog.metadata.leaders.layout import PlacedPartition
from tidelog.metadata.leaders.spread import plan_spread

LOOKS_MAX = 5
"""How often new replicas are looked for that were placed before the cordon was known everywhere."""

LEADER_PATIENCE_S = 30.0
LOOK_S = 0.2

Say = Callable[[str], None]


def fill_new_cores(direct: DirectCluster, cores: Sequence[int], rate: int, say: Say) -> None:
    """Cores that hold nothing get their share of what the others hold."""
    view = look_at_cluster(direct)
    held = dict.fromkeys(cores, 0)
    for partition in view.partitions.values():
        for core in held.keys() & partition.replicas:
            held[core] += 1
    if min(held.values()) > 0:
        return
    moves = _planned(direct, view, cores)
    if moves:
        say(f"{len(moves)} of {sum(held.values())} replicas move to other cores of this machine.")
        _carry_out(direct, view, moves, rate)
        say("The replicas are spread over the cores.")


def reopen_cores(direct: DirectCluster, cores: Sequence[int]) -> None:
    """Cores that stay take replicas again, where a start with fewer of them was given up.

    No start closes the first core: where it is closed, an operator drains the machine.
    """
    view = look_at_brokers(direct)
    stored = look_at_log_dirs(direct, [broker for broker in view.alive if broker.id in cores], [])
    closed = [id for id in cores if id in stored and stored[id].cordoned]
    if cores[0] not in closed:
        _set_cordons(direct, [view.brokers[id] for id in closed], cordoned=False)


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
            return
        _carry_out(direct, view, moves, rate)
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


def _carry_out(direct: DirectCluster, view: ClusterView, moves: Sequence[Move], rate: int) -> None:
    if rate:
        set_throttle(direct, view, moves, rate)
    refused: dict[TopicPartition, CliError] = {}
    for first in range(0, len(moves), AT_A_TIME):
        wanted: Mapping[TopicPartition, tuple[int, ...]] = {
            move.place: move.after for move in moves[first : first + AT_A_TIME]
        }
        refused |= alter_reassignments(direct, wanted)
    started = [move for move in moves if move.place not in refused]
    if started:
        wait_until_done(direct, {move.place: move.adding for move in started})
        elect_leaders(
            direct, Election.PREFERRED, [move.place for move in started if move.after[0] != move.before[0]]
        )
    if refused:
        raise next(iter(refused.values()))


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
