"""Where each member answers queries about its state, and for which partitions: for interactive queries."""

from collections.abc import Mapping

from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.tasks import Role, Tasks, of_role
from tidelog.groups.streams.configured import Configured
from tidelog.groups.streams.group import StreamsGroup
from tidelog.groups.streams.messages import Endpoint
from tidelog.groups.streams.topology import inputs


def endpoints(group: StreamsGroup, configured: Configured, topics: Topics) -> list[Endpoint]:
    """Of all members that have one."""
    return [
        Endpoint(
            *member.endpoint,
            active=_partitions(group.holding(member_id).assigned, Role.ACTIVE, configured, topics),
            standby=_partitions(group.holding(member_id).assigned, Role.STANDBY, configured, topics),
        )
        for member_id, member in group.members.items()
        if member.endpoint is not None
    ]


def _partitions(tasks: Tasks, role: Role, configured: Configured, topics: Topics) -> Mapping[str, list[int]]:
    """A topic need not have a partition for every task: its subtopology may read a larger one, too."""
    found: dict[str, list[int]] = {}
    for subtopology_id, numbers in of_role(tasks, role).items():
        part = (configured.parts or {}).get(subtopology_id)
        for topic in () if part is None else inputs(part.part):
            info = topics.by_name.get(topic)
            if info is not None:
                found[topic] = sorted(number for number in numbers if number < info.partitions)
    return found
