"""Range: each topic is cut into contiguous ranges, one for each subscriber in a fixed order.

Topics with as many partitions and the same subscribers are cut alike, so that records that belong together
by key meet in one member. Static members come first, by instance id: a restart shuffles no member.
"""

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.assignors.assignor import Members, Targets, Topics


def assign(topics: Topics, members: Members) -> Targets:
    targets: Targets = {member_id: {} for member_id in members}
    subscribers: dict[Uuid, list[str]] = {topic: [] for topic in topics}
    for member_id in sorted(members, key=lambda one: _place(one, members[one].instance_id)):
        for topic in members[member_id].topics:
            subscribers[topic].append(member_id)
    for topic, readers in subscribers.items():
        if not readers:
            continue
        share, extras = divmod(topics[topic], len(readers))
        start = 0
        for place, member_id in enumerate(readers):
            end = start + share + (place < extras)
            if start < end:
                targets[member_id][topic] = frozenset(range(start, end))
            start = end
    return targets


def _place(member_id: str, instance_id: str | None) -> tuple[bool, str]:
    return instance_id is None, member_id if instance_id is None else instance_id
