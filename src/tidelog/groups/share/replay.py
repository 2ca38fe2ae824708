"""Makes a record about a share group true: the only place such a group changes."""

from tidelog.groups.record_formats import share_group as formats
from tidelog.groups.record_formats.share_group import Key, ShareTarget
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.states import NO_STATES


def replay(groups: dict[str, ShareGroup], key: bytes, value: bytes | None) -> str:
    """The id of the group that changed; it is in `groups` now, or is there no more.

    Records of a group can come in any order: compaction keeps the last of each key, wherever that is.
    """
    kind, group_id, name = formats.decode_key(key)
    group = groups.get(group_id)
    if group is None and value is None:
        return group_id
    if value is None and kind is Key.GROUP:
        del groups[group_id]
        return group_id
    if group is None:
        group = groups[group_id] = ShareGroup(group_id)
    match kind:
        case Key.GROUP if value is not None:
            group.put_epoch(formats.decode_group(value))
        case Key.TARGET:
            group.put_target_epoch(ShareTarget(0) if value is None else formats.decode_target_epoch(value))
        case Key.STATES:
            group.states = NO_STATES if value is None else formats.decode_states(value)
        case _:
            group.replay(kind, name, value)
    return group_id
