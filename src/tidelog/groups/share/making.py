"""Share state is made before a partition is assigned: which partitions need it, and what came of it."""

from collections.abc import Mapping

from tidelog.base.ids import Offset, Uuid
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.share_group import NamedPartitions
from tidelog.groups.share import states
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.messages import StatesToMake
from tidelog.groups.share.room import ShareRoom
from tidelog.groups.share.states import Partitions

NO_OFFSET: Offset = -1
"""The leader of the partition finds the offset to start at, by `share.auto.offset.reset`."""


def begin_missing(draft: Draft, room: ShareRoom, topics: Topics) -> StatesToMake | None:
    """Note the partitions without state that members read. The persister is asked once that is committed."""
    missing = _missing(draft, room, topics)
    if not missing:
        return None
    offsets = {topic: dict.fromkeys(one.partitions, NO_OFFSET) for topic, one in missing.items()}
    return begin(draft, room, missing, offsets)


def begin(
    draft: Draft,
    room: ShareRoom,
    topics: Mapping[Uuid, NamedPartitions],
    offsets: Mapping[Uuid, Mapping[int, Offset]],
) -> StatesToMake:
    group_id, ids = draft.group.id, set(topics)
    noted = states.begin(draft.group.states, topics)
    if noted != draft.group.states:
        draft.put_states(noted)
    room.begin_states(draft.step, group_id, ids)
    draft.step.if_failed(lambda *_: room.end_states(group_id, ids))
    return StatesToMake(group_id, draft.group.epoch, offsets)


def end(draft: Draft, room: ShareRoom, made: Partitions, failed: Partitions) -> None:
    """The persister answered. What failed is tried again with the next heartbeat."""
    group = draft.group
    room.end_states(group.id, {*made, *failed})
    noted = states.not_made(states.made(group.states, made), failed)
    if noted != group.states:
        draft.put_states(noted)
        room.shared.stale.add(group.id)  # its next heartbeat assigns what was made


def _missing(draft: Draft, room: ShareRoom, topics: Topics) -> dict[Uuid, NamedPartitions]:
    group, found = draft.group, {}
    for name in group.topics_read(topics):
        info = topics.by_name[name]
        done = group.states.initialized.get(info.topic_id)
        begun = group.states.initializing.get(info.topic_id)
        have = frozenset() if done is None else done.partitions
        if begun is not None and room.is_under_way(draft.step, group.id, info.topic_id):
            have |= begun.partitions
        if len(have) < info.partitions:
            missing = frozenset(range(info.partitions)) - have
            found[info.topic_id] = NamedPartitions(name, missing)
    return found
