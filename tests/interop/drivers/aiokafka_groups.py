"""What aiokafka's admin client can do with groups: look at them."""

from typing import Any

from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment

from tests.interop.driver import GroupInfo, MemberInfo, Place, Refused
from tests.interop.group_member import Committed


class Groups:
    _ask: Any

    def list_groups(self) -> dict[str, str | None]:
        """Its version of the request knows no states."""
        return dict.fromkeys(group for group, *_ in self._ask("list_consumer_groups"))

    def describe_group(self, group: str) -> GroupInfo:
        [answer] = self._ask("describe_consumer_groups", [group])
        [(code, _, state, _, assignor, members, *_)] = answer.groups
        if code:
            raise Refused(code)
        return GroupInfo(state.lower(), assignor, [described(member) for member in members])

    def group_offsets(self, group: str) -> dict[Place, Committed]:
        found = self._ask("list_consumer_group_offsets", group)
        return {tuple(place): Committed(one.offset, one.metadata) for place, one in found.items()}


def described(member: Any) -> MemberInfo:
    _, client_id, host, _, assignment, *_ = member
    assigned = ConsumerProtocolMemberAssignment.decode(assignment).assignment if assignment else ()
    return MemberInfo(
        client_id, host, None, {(topic, index) for topic, indexes in assigned for index in indexes}
    )
