"""States of groups in Kafka's words, for those that librdkafka has no name for (Assigning, Reconciling)."""

from collections.abc import Iterable

from tidelog.blocking.errors import Disconnected
from tidelog.cli.exits import CliError
from tidelog.cli.session import Session

UNKNOWN = "Unknown"
FIRST_WITH_STATES = 4


def exact_states(session: Session, brokers: Iterable[tuple[str, int]]) -> dict[str, str]:
    """{group: state} of the groups that these brokers coordinate; skips brokers that do not answer."""
    from tidelog.cli.direct.cluster import DirectCluster
    from tidelog.wire.messages.list_groups import ListGroupsRequest

    states: dict[str, str] = {}
    for address in brokers:
        try:
            direct = DirectCluster(session)
            answer = direct.ask_broker(address, ListGroupsRequest(), at_least=FIRST_WITH_STATES)
        except (Disconnected, CliError):
            continue
        states |= {group.group_id: group.group_state for group in answer.groups if group.group_state}
    return states
