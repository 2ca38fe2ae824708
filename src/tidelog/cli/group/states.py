"""States of groups in Kafka's words, for those that librdkafka has no name for (Assigning, Reconciling)."""

from collections.abc import Iterable

from tidelog.base.errors import ProtocolError
from tidelog.cli.direct.call import call, is_plain
from tidelog.cli.session import Session
from tidelog.wire.apis import ApiKey

UNKNOWN = "Unknown"
VERSION = 4  # the first with states; a broker that knows such states knows it


def exact_states(session: Session, brokers: Iterable[tuple[str, int]]) -> dict[str, str]:
    """{group: state} of the groups that these brokers look after; who won't say is left out."""
    from tidelog.wire.messages.list_groups import ListGroupsRequest

    if not is_plain(session):
        return {}
    states: dict[str, str] = {}
    for address in brokers:
        try:
            answer = call(address, ApiKey.LIST_GROUPS, VERSION, ListGroupsRequest(), session.timeout_s)
        except (OSError, ProtocolError):
            continue
        states |= {group.group_id: group.group_state for group in answer.groups if group.group_state}
    return states
