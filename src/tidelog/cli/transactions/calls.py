"""What coordinators know of transactions: ListTransactions of all, DescribeTransactions of the right one.

The coordinator of an id is the leader of its partition of `__transaction_state`. To find it there, and not
with FindCoordinator, leaves a cluster that never had transactions without that topic.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import Broker, ClusterView, look_at_brokers, look_at_cluster
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.transactions.producer_states import away
from tidelog.clients.records import TopicPartition
from tidelog.coordination.placement import partition_of_key
from tidelog.metadata.topics.names import TRANSACTION_STATE
from tidelog.transactions.states import ENDING, State
from tidelog.wire.message import Message

UNDER_WAY = tuple(state.text for state in (State.ONGOING, *ENDING))
LOOK_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


@dataclass(frozen=True, slots=True)
class Listed:
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int

    def as_json(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "state": self.state,
            "coordinator": self.coordinator,
        }


@dataclass(frozen=True, slots=True)
class Described:
    transactional_id: str
    state: str
    producer_id: int
    epoch: int
    timeout_ms: int
    started_ms: int | None
    """None while no transaction is under way."""
    places: tuple[TopicPartition, ...]
    coordinator: int

    def as_json(self, now_ms: int) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "state": self.state,
            "producer_id": self.producer_id,
            "epoch": self.epoch,
            "timeout_ms": self.timeout_ms,
            "started": self.started_ms,
            "open_for_ms": self.open_for_ms(now_ms),
            "coordinator": self.coordinator,
            "partitions": [{"topic": at.topic, "partition": at.partition} for at in self.places],
        }

    def open_for_ms(self, now_ms: int) -> int | None:
        return None if self.started_ms is None else max(0, now_ms - self.started_ms)


def list_transactions(
    direct: DirectCluster,
    *,
    states: Sequence[str] = (),
    producer_ids: Collection[int] = (),
    longer_than_ms: int | None = None,
    pattern: str | None = None,
) -> list[Listed]:
    """Of every broker. It fails where one is alive and does not answer: its transactions would be missing."""
    from tidelog.wire.messages.list_transactions import ListTransactionsRequest

    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=sorted(producer_ids),
        duration_filter=-1 if longer_than_ms is None else longer_than_ms,
        transactional_id_pattern=pattern,
    )
    at_least = 2 if pattern is not None else 1 if longer_than_ms is not None else 0
    found: list[Listed] = []
    for broker in look_at_brokers(direct).alive:
        answer = direct.repeat(
            partial(_ask, direct, broker, request, at_least), lambda answer: answer.error_code in LOOK_AGAIN
        )
        if answer.error_code:
            raise refusal(answer.error_code, None, f"Broker {broker.id} does not list its transactions")
        if answer.unknown_state_filters:
            raise CliError(
                f"Broker {broker.id} does not know the state {answer.unknown_state_filters[0]}.",
                attempt="tidelog txn list --help",
                code=Exit.REFUSED,
            )
        found += [
            Listed(one.transactional_id, one.producer_id, one.transaction_state, broker.id)
            for one in answer.transaction_states
        ]
    return sorted(found, key=lambda one: one.transactional_id)


def describe_transaction(direct: DirectCluster, transactional_id: str) -> Described:
    """NOT_FOUND for an id that no coordinator knows."""
    from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest

    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    answer, broker = ask_coordinator(
        direct,
        transactional_id,
        request,
        lambda answer: answer.transaction_states[0].error_code,
    )
    state = answer.transaction_states[0]
    if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        raise unknown_id(transactional_id)
    if state.error_code:
        raise refusal(state.error_code, None, f"Transactional id '{transactional_id}'")
    return Described(
        state.transactional_id,
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        # Of one that is over, coordinators still tell when it began.
        state.transaction_start_time if state.transaction_state in UNDER_WAY else None,
        tuple(sorted(TopicPartition(at.topic, part) for at in state.topics for part in at.partitions)),
        broker.id,
    )


def ask_coordinator(
    direct: DirectCluster,
    transactional_id: str,
    request: Message,
    code_of: Callable[[Any], int],
) -> tuple[Any, Broker]:
    """Returns the coordinator's answer, and the coordinator; asks again while it moves, loads or finishes."""

    def ask() -> tuple[Any, Broker] | None:
        broker = _coordinator(direct, transactional_id)
        return None if broker is None else (_ask(direct, broker, request, 0), broker)

    answered = direct.repeat(ask, lambda found: found is None or code_of(found[0]) in LOOK_AGAIN)
    if answered is None:
        raise CliError(
            f"'{transactional_id}' has no coordinator now.",
            cause=f"its partition of {TRANSACTION_STATE} has no leader: brokers are down.",
            attempt="tidelog cluster status",
            code=Exit.UNREACHABLE,
        )
    return answered


def _coordinator(direct: DirectCluster, transactional_id: str) -> Broker | None:
    """Returns None while its partition has no leader."""
    view = look_at_state_topic(direct)
    if not view.partitions:
        raise unknown_id(transactional_id)
    place = TopicPartition(TRANSACTION_STATE, partition_of_key(transactional_id, len(view.partitions)))
    leader = view.partitions[place].leader
    return None if leader is None else view.broker(leader)


def look_at_state_topic(direct: DirectCluster) -> ClusterView:
    """Without partitions where there never were transactions."""
    try:
        return look_at_cluster(direct, [TRANSACTION_STATE])
    except CliError as error:
        if error.code is not Exit.NOT_FOUND:
            raise
        return look_at_brokers(direct)


def unknown_id(transactional_id: str) -> CliError:
    return CliError(
        f"There is no transactional id '{transactional_id}'.",
        cause="it never had a producer, it expired, or it lives in another cluster.",
        attempt="tidelog txn list",
        code=Exit.NOT_FOUND,
    )


def _ask(direct: DirectCluster, broker: Broker, request: Message, at_least: int) -> Any:
    try:
        return direct.ask_broker((broker.host, broker.port), request, at_least=at_least)
    except Disconnected as error:
        raise away(broker.id, broker.address, error) from error
