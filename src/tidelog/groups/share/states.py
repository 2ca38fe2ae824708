"""Which partitions have share state, as the group's record says, and how that changes.

A partition is `initializing` from before the persister is asked until it has answered, then `initialized`.
A topic is `deleting` from before its state is deleted until that is done: a crash leaves nothing over.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from tidelog.base.ids import Uuid
from tidelog.groups.record_formats.share_group import NamedPartitions, StoredStates

NO_STATES = StoredStates()

Partitions = Mapping[Uuid, frozenset[int]]

ValueT = TypeVar("ValueT")


def begin(states: StoredStates, topics: Mapping[Uuid, NamedPartitions]) -> StoredStates:
    """A topic that is to be deleted stays: its state is made anew."""
    return states._replace(
        initializing=_with(states.initializing, topics), deleting=_without_topics(states.deleting, topics)
    )


def made(states: StoredStates, partitions: Partitions) -> StoredStates:
    """The persister has the state of these partitions; what was not `initializing` meanwhile stays out."""
    named = {
        topic: NamedPartitions(begun.topic_name, begun.partitions & partitions[topic])
        for topic, begun in states.initializing.items()
        if topic in partitions
    }
    named = {topic: one for topic, one in named.items() if one.partitions}
    return states._replace(
        initializing=_without(states.initializing, partitions), initialized=_with(states.initialized, named)
    )


def not_made(states: StoredStates, partitions: Partitions) -> StoredStates:
    return states._replace(initializing=_without(states.initializing, partitions))


def begin_deletion(states: StoredStates, topics: Collection[Uuid]) -> StoredStates:
    names = {topic: one.topic_name for topic, one in all_made(states).items() if topic in topics}
    return StoredStates(
        _without_topics(states.initializing, topics),
        _without_topics(states.initialized, topics),
        {**states.deleting, **names},
    )


def without(states: StoredStates, topics: Collection[Uuid]) -> StoredStates:
    """The topics are gone, and their state with them."""
    return StoredStates(
        _without_topics(states.initializing, topics),
        _without_topics(states.initialized, topics),
        _without_topics(states.deleting, topics),
    )


def deleted(states: StoredStates, topics: Collection[Uuid]) -> StoredStates:
    return states._replace(deleting=_without_topics(states.deleting, topics))


def all_made(states: StoredStates) -> dict[Uuid, NamedPartitions]:
    """Everything the persister may have state of, apart from what is being deleted."""
    return _with(states.initialized, states.initializing)


def topic_ids(states: StoredStates) -> set[Uuid]:
    return {*states.initializing, *states.initialized, *states.deleting}


def _with(
    topics: Mapping[Uuid, NamedPartitions], more: Mapping[Uuid, NamedPartitions]
) -> dict[Uuid, NamedPartitions]:
    joined = dict(topics)
    for topic, (name, partitions) in more.items():
        known = joined.get(topic)
        joined[topic] = NamedPartitions(name, partitions if known is None else known.partitions | partitions)
    return joined


def _without(topics: Mapping[Uuid, NamedPartitions], less: Partitions) -> dict[Uuid, NamedPartitions]:
    left = {
        topic: one._replace(partitions=one.partitions - less.get(topic, frozenset()))
        for topic, one in topics.items()
    }
    return {topic: one for topic, one in left.items() if one.partitions}


def _without_topics(topics: Mapping[Uuid, ValueT], gone: Iterable[Uuid]) -> dict[Uuid, ValueT]:
    gone = set(gone)
    return {topic: value for topic, value in topics.items() if topic not in gone}
