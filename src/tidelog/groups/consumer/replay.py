"""Makes a record about a group of the new kind true: the only place such a group changes."""

from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.record_formats import consumer_group as formats
from tidelog.groups.record_formats.consumer_group import ConsumerTarget, Key


def replay(groups: dict[str, ConsumerGroup], key: bytes, value: bytes | None) -> str:
    """The id of the group that changed; it is in `groups` now, or is there no more.

    Records of a group can come in any order: compaction keeps the last of each key, wherever that is.
    """
    kind, group_id, name = formats.decode_key(key)
    group = groups.get(group_id)
    if value is None:
        if group is not None and kind is Key.GROUP:
            del groups[group_id]
        elif group is not None:
            _remove(group, kind, name)
        return group_id
    if group is None:
        group = groups[group_id] = ConsumerGroup(group_id)
    _put(group, kind, name, value)
    return group_id


def _put(group: ConsumerGroup, kind: Key, name: str, value: bytes) -> None:
    match kind:
        case Key.GROUP:
            group.put_epoch(formats.decode_group(value))
        case Key.TARGET:
            group.put_target_epoch(formats.decode_target_epoch(value))
        case Key.PATTERN:
            group.patterns[name] = formats.decode_pattern(value)
        case Key.TOPICS:
            group.has_topics_record = True
        case _:
            group.replay(kind, name, value)


def _remove(group: ConsumerGroup, kind: Key, name: str) -> None:
    match kind:
        case Key.TARGET:
            group.put_target_epoch(ConsumerTarget(0))
        case Key.PATTERN:
            group.patterns.pop(name, None)
        case Key.TOPICS:
            group.has_topics_record = False
        case _:
            group.replay(kind, name, None)
