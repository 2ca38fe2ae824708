"""ListGroups: which groups there are, by state and kind."""

from collections.abc import Collection, Iterable

from tidelog.groups.group import Group
from tidelog.groups.offsets.messages import ListedGroup


def list_groups(
    groups: Iterable[Group], states: Collection[str], types: Collection[str]
) -> list[ListedGroup]:
    """Filters compare without case; an empty one lets everything through."""
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {kind.strip().lower() for kind in types}
    return [
        ListedGroup(group.id, group.protocol_type or "", group.state_name, group.kind.value)
        for group in groups
        if (not wanted_states or group.state_name.lower() in wanted_states)
        and (not wanted_types or group.kind.value in wanted_types)
    ]
