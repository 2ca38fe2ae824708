"""The share state of this broker's groups: what has it made and deleted, there once a group needs it."""

from typing import TYPE_CHECKING

from tidelog.broker.requests.context import Services

if TYPE_CHECKING:
    from tidelog.broker.shares.group_states import GroupStates


def group_states_of(services: Services) -> "GroupStates":
    if services.group_states is None:
        from tidelog.broker.shares.group_states import GroupStates  # a broker without share groups has none

        services.group_states = GroupStates(services.groups, lambda: services.persister)
    return services.group_states
