"""Alter, delete and forget where a share group is in its topics: what the group notes before and after.

Its position is in the share state, which the persister keeps. Each change is noted in the group's record
before the persister is asked, and again once it answered.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Offset, Uuid
from tidelog.groups.consumer.checks import NAME_CHARS_MAX
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.share_group import NamedPartitions, StoredStates
from tidelog.groups.share import making, states
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.messages import StatesToDelete, StatesToMake
from tidelog.groups.share.room import ShareRoom

NOTHING_TO_DELETE = "There is no offset information to delete."


class Unknown(NamedTuple):
    """A topic or partition that a request names and that is not there."""

    topic_name: str
    partition: int = -1
    error_message: str | None = None


class AlterAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    to_make: StatesToMake | None = None
    unknown: Sequence[Unknown] = ()


class DeleteAnswer(NamedTuple):
    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    to_delete: StatesToDelete | None = None
    unknown: Sequence[Unknown] = ()


def alter(
    draft: Draft, room: ShareRoom, topics: Topics, wanted: Mapping[str, Mapping[int, Offset]]
) -> AlterAnswer:
    """A new epoch, so that leaders which still work with the state as it was are fenced."""
    draft.group.check_delete()
    unknown: list[Unknown] = []
    named: dict[Uuid, NamedPartitions] = {}
    offsets: dict[Uuid, Mapping[int, Offset]] = {}
    for name, of_topic in wanted.items():
        info = topics.by_name.get(name)
        count = 0 if info is None else info.partitions
        unknown += [Unknown(name, number) for number in of_topic if not 0 <= number < count]
        known = {number: offset for number, offset in of_topic.items() if 0 <= number < count}
        if info is not None and known:
            named[info.topic_id] = NamedPartitions(name, frozenset(known))
            offsets[info.topic_id] = known
    if not named:
        return AlterAnswer(unknown=unknown)
    draft.put_epoch(draft.group.epoch + 1, draft.group.metadata_hash)
    return AlterAnswer(to_make=making.begin(draft, room, named, offsets), unknown=unknown)


def begin_deletion(draft: Draft, topics: Topics, names: Sequence[str]) -> DeleteAnswer:
    """Of single topics, which the group may read again later."""
    draft.group.check_delete()
    unknown: list[Unknown] = []
    ids: set[Uuid] = set()
    for name in dict.fromkeys(names):
        info = topics.by_name.get(name)
        if info is None:
            unknown.append(Unknown(name))
        elif info.topic_id in draft.group.states.initialized or info.topic_id in draft.group.states.deleting:
            ids.add(info.topic_id)
        else:
            unknown.append(Unknown(name, error_message=NOTHING_TO_DELETE))
    return DeleteAnswer(to_delete=_delete(draft, topics, ids), unknown=unknown)


def begin_deletion_of_all(draft: Draft, topics: Topics) -> StatesToDelete | None:
    """The group is about to be deleted: first what the persister has of it."""
    draft.group.check_delete()
    return _delete(draft, topics, states.topic_ids(draft.group.states))


def still_deleting(group: ShareGroup, topics: Topics) -> StatesToDelete | None:
    """What a coordinator before this one began to delete, of the topics that are still there.

    The state of a deleted topic goes with the topic.
    """
    partitions = {
        topic: frozenset(range(topics.by_name[topics.names_by_id[topic]].partitions))
        for topic in group.states.deleting
        if topic in topics.names_by_id
    }
    return StatesToDelete(group.id, partitions) if partitions else None


def end_deletion(draft: Draft, topics: Collection[Uuid]) -> None:
    _put(draft, states.deleted(draft.group.states, topics))


def drop_topics(draft: Draft, topics: Collection[Uuid]) -> None:
    """They are gone: the share coordinator deletes their state by itself."""
    _put(draft, states.without(draft.group.states, topics))


def _delete(draft: Draft, topics: Topics, ids: set[Uuid]) -> StatesToDelete | None:
    made = states.all_made(draft.group.states)
    partitions = {topic: one.partitions for topic, one in made.items() if topic in ids}
    for topic in ids & draft.group.states.deleting.keys():
        if topic in topics.names_by_id:
            count = topics.by_name[topics.names_by_id[topic]].partitions
            partitions[topic] = partitions.get(topic, frozenset()) | frozenset(range(count))
    _put(draft, states.begin_deletion(draft.group.states, ids))
    return StatesToDelete(draft.group.id, partitions) if partitions else None


def _put(draft: Draft, noted: StoredStates) -> None:
    if noted != draft.group.states:
        draft.put_states(noted)


def check_group_id(group_id: str) -> None:
    """KafkaError for an id that no share group can have: heartbeats refuse it."""
    if not group_id or len(group_id) > NAME_CHARS_MAX:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
