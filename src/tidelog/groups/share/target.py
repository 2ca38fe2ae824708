"""From what members read, to a new epoch where that changed, to a new target for the group."""

from tidelog.base.ids import Uuid
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.record_formats.share_group import ShareTarget
from tidelog.groups.share.assignor import Reader, assign
from tidelog.groups.share.draft import Draft
from tidelog.groups.share.group import ShareGroup
from tidelog.groups.share.room import ShareRoom


def rebalance(draft: Draft, room: ShareRoom, topics: Topics, *, changed: bool) -> int:
    """Begin a new epoch if members or topics changed, and give it a target once that is due.

    Returns the milliseconds until a target that has to wait may be made.
    """
    is_stale = room.shared.take_stale(draft.step, draft.group.id)
    if changed or is_stale or draft.group.epoch == 0:
        now = topics.hash_of(draft.group.topics_read(topics))
        is_new = changed or draft.group.epoch == 0 or now != draft.group.metadata_hash
        if is_new or (_is_assigned(draft.group) and has_unassigned(draft.group, topics)):
            draft.put_epoch(draft.group.epoch + 1, now)
    if _is_assigned(draft.group):
        return 0
    interval_ms = draft.step.context.settings.of_group(draft.group.id).int("share.assignment.interval.ms")
    wait_ms = draft.group.wait_ms(draft.step.now_ms, interval_ms)
    if wait_ms == 0:
        _assign(draft, topics)
    return wait_ms


def has_unassigned(group: ShareGroup, topics: Topics) -> bool:
    """Whether partitions have share state by now, and no member."""
    given: dict[Uuid, set[int]] = {}
    for target in group.targets.values():
        for topic, numbers in target.items():
            given.setdefault(topic, set()).update(numbers)
    return any(
        given.get(topic, frozenset()) != numbers for topic, numbers in assignable(group, topics).items()
    )


def assignable(group: ShareGroup, topics: Topics) -> dict[Uuid, frozenset[int]]:
    """The partitions with share state, of the topics that members read."""
    found = {}
    for name in group.topics_read(topics):
        topic_id = topics.by_name[name].topic_id
        stored = group.states.initialized.get(topic_id)
        if stored is not None:
            found[topic_id] = stored.partitions
    return found


def _is_assigned(group: ShareGroup) -> bool:
    return group.epoch <= group.target_epoch


def _assign(draft: Draft, topics: Topics) -> None:
    group = draft.group
    partitions = assignable(group, topics)
    readers = {
        member_id: Reader(
            frozenset(topics.by_name[name].topic_id for name in member.topic_names if name in topics.by_name),
            group.target(member_id),
        )
        for member_id, member in group.members.items()
    }
    for member_id, target in assign(partitions, readers).items():
        if group.targets.get(member_id) != target:
            draft.put_target(member_id, target)
    # A target of nothing is no reason to wait: the state of the first partitions is being made just now.
    assigned_ms = draft.step.now_ms if partitions else 0
    draft.put_target_epoch(ShareTarget(group.epoch, assigned_ms))
    count = sum(map(len, partitions.values()))
    what = f"{count} partitions to {len(readers)} members for epoch {group.epoch}"
    draft.step.note(f"share group {group.id} assigned {what}")
