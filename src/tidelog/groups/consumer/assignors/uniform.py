"""Uniform: as many partitions for everybody as can be, and as few moves as that allows.

Where all members read the same topics, each gets the same number, give or take one, and keeps what it had up
to that. Otherwise `uneven` has to look at who can read what.
"""

from collections import deque

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.assignors import uneven
from tidelog.groups.consumer.assignors.assignor import Members, Targets, Topics, Unassigned, grouped


def assign(topics: Topics, members: Members) -> Targets:
    if not members:
        return {}
    if len({member.topics for member in members.values()}) > 1:
        return uneven.assign(topics, members)
    return _assign_alike(topics, members)


def _assign_alike(topics: Topics, members: Members) -> Targets:
    share, extras = divmod(sum(topics.values()), len(members))
    unassigned = Unassigned(topics)
    given: dict[str, list[tuple[Uuid, int]]] = {}
    for member_id in sorted(members):
        kept = given[member_id] = []
        for topic, partitions in sorted(members[member_id].target.items()):
            for partition in sorted(partitions):
                if len(kept) >= share + (extras > 0):
                    break
                if unassigned.take(topic, partition):
                    kept.append((topic, partition))
        # Those who had more than the share keep one of the partitions that do not divide evenly.
        extras -= len(kept) > share
    hungry = deque(member_id for member_id, kept in given.items() if len(kept) < share)
    full = deque(member_id for member_id, kept in given.items() if len(kept) == share)
    for free in unassigned.rest():
        if hungry:
            member_id = hungry.popleft()
            given[member_id].append(free)
            (hungry if len(given[member_id]) < share else full).append(member_id)
        else:
            given[full.popleft()].append(free)
    return {member_id: grouped(kept) for member_id, kept in given.items()}
