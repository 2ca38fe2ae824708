"""Even plans for what the cluster commands move: the planners of the metadata room, in the CLI's words."""

from collections.abc import Collection, Iterable, Sequence

from tidelog.cli.cluster.view import Broker
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.calls import Assignment
from tidelog.clients.records import TopicPartition
from tidelog.metadata.leaders.balance import Move, PlanError, plan_drain, plan_rebalance
from tidelog.metadata.leaders.layout import PlacedPartition, UsableBroker

Plan = dict[TopicPartition, tuple[int, ...]]


def evened(current: Assignment, brokers: Sequence[Broker]) -> Plan:
    """The same partitions, evenly on these brokers and on no other."""
    try:
        moves = plan_rebalance(_usable_brokers(brokers), _placed(current))
    except PlanError as error:
        raise _refused(error) from error
    return _applied(current, moves)


def drained(
    current: Assignment,
    brokers: Collection[Broker],
    leaving: Collection[int],
    known: Collection[Broker] | None = None,
) -> Plan:
    """Nothing on these brokers any more, and what they held on others that are alive.

    `known` are all brokers of the cluster: a replica that stays on any of them keeps its machine taken.
    """
    takers = [other for other in brokers if other.id not in leaving and not other.fenced]
    others = [other for other in (brokers if known is None else known) if other not in takers]
    try:
        moves = plan_drain(_usable_brokers(takers), _placed(current), leaving, _usable_brokers(others))
    except PlanError as error:
        raise _refused(error) from error
    return _applied(current, moves)


def _usable_brokers(brokers: Iterable[Broker]) -> list[UsableBroker]:
    return [UsableBroker(broker.id, broker.rack, broker.machine) for broker in brokers]


def _placed(current: Assignment) -> list[PlacedPartition]:
    return [PlacedPartition(*place, replicas) for place, replicas in current.items()]


def _applied(current: Assignment, moves: Iterable[Move]) -> Plan:
    return {**current, **{TopicPartition(move.topic, move.partition): move.after for move in moves}}


def _refused(error: PlanError) -> CliError:
    text = str(error)
    return CliError(f"There is no plan: {text}.", attempt="tidelog cluster brokers", code=Exit.REFUSED)
