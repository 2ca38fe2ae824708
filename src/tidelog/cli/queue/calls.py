"""Requests about share groups: to the coordinator of a group, or to one broker; errors about queues."""

from collections.abc import Callable
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import Broker
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.wire.message import Message

GROUP_KEY = 0
LOOK_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def ask_coordinator(
    direct: DirectCluster, name: str, request: Message, code_of: Callable[[Any], int]
) -> tuple[Any, Broker]:
    """Returns the coordinator's answer, and the coordinator; asks again while it moves or loads."""

    def attempt() -> tuple[Any, Broker] | None:
        coordinator = _coordinator(direct, name)
        return None if coordinator is None else (ask(direct, coordinator, request), coordinator)

    found = direct.repeat(attempt, lambda found: found is None or code_of(found[0]) in LOOK_AGAIN)
    if found is None:
        raise CliError(
            f"Group '{name}' has no coordinator now.",
            cause="its partition of __consumer_offsets has no leader: brokers are down, or just starting.",
            attempt="tidelog cluster status",
            code=Exit.UNREACHABLE,
        )
    return found


def _coordinator(direct: DirectCluster, name: str) -> Broker | None:
    from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest

    request = FindCoordinatorRequest(key=name, key_type=GROUP_KEY, coordinator_keys=[name])
    answer = direct.ask(request)
    found = answer.coordinators[0] if answer.coordinators else answer
    if found.error_code in LOOK_AGAIN:
        return None
    if found.error_code:
        raise refusal(found.error_code, found.error_message, f"Group '{name}'")
    return Broker(found.node_id, found.host, found.port)


def ask(direct: DirectCluster, broker: Broker, request: Message, at_least: int = 0) -> Any:
    try:
        return direct.ask_broker((broker.host, broker.port), request, at_least=at_least)
    except Disconnected as error:
        raise CliError(
            f"Broker {broker.id} at {broker.address} does not answer: {error.reason}.",
            cause="it stopped a moment ago, or advertises an address that this machine cannot reach.",
            attempt="tidelog cluster brokers",
            code=Exit.UNREACHABLE,
        ) from error


def no_such_queue(name: str, direct: DirectCluster) -> CliError:
    return CliError(
        f"There is no share group '{name}' at {direct.session.servers}.",
        cause="no member of that name has joined yet, or the group is of another kind.",
        attempt="tidelog queue list; tidelog group list shows groups of every kind",
        code=Exit.NOT_FOUND,
    )


def needs_leaders(what: str, name: str) -> CliError:
    return CliError(
        f"The brokers do not tell {what} of group '{name}'.",
        cause="they are of Apache Kafka, or of an older Tidelog: neither has a request for it.",
        attempt=f"tidelog queue describe {name}, which shows start offsets and lag",
        code=Exit.REFUSED,
    )


def in_use(name: str, members: int) -> CliError:
    """Only a group without members can be moved: a member would go on with what it holds."""
    return CliError(
        f"Group '{name}' has {members} active member{'s' if members != 1 else ''}.",
        cause="its consumers are running; stop them first. A consumer that crashed counts until its session "
        "ends.",
        attempt=f"tidelog queue describe {name} --watch",
        code=Exit.REFUSED,
    )
