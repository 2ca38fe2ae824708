"""From what members subscribe to, to a new epoch where that changed, to a new target assignment."""

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Uuid
from tidelog.groups.consumer.assignors.assignor import Assignor, MemberSpec
from tidelog.groups.consumer.assignors.registry import ASSIGNORS
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.topic_pattern import matching_topics
from tidelog.groups.consumer.topics import MaySee, Topics
from tidelog.groups.record_formats.consumer_group import ConsumerTarget, ResolvedPattern, Subscription
from tidelog.groups.step import Step


def update_member(
    draft: Draft,
    topics: Topics,
    member_id: str,
    before: Subscription | None,
    after: Subscription,
    *,
    may_see: MaySee | None,
) -> bool:
    """Store what is new about a member. Whether the group has to assign anew for it."""
    read_before = frozenset() if before is None else draft.group.topic_names(before)
    if after.topic_regex is not None and after.topic_regex not in draft.group.patterns:
        _resolve(draft, topics, after.topic_regex, may_see)
    if after != before:
        draft.put_member(member_id, after)
        if before is not None and before.topic_regex != after.topic_regex:
            draft.remove_unused_patterns()
    return before is None or read_before != draft.group.topic_names(after)


def rebalance(
    draft: Draft, room: ConsumerRoom, topics: Topics, *, changed: bool, may_see: MaySee | None
) -> int:
    """Begin a new epoch if members or topics changed, and give it a target once that is due.

    Returns the milliseconds until a target that has to wait may be made.
    """
    is_stale = room.take_stale(draft.step, draft.group.id)
    if is_stale:
        _refresh_patterns(draft, topics, may_see)
    if changed or is_stale or draft.group.epoch == 0:
        now = topics.hash_of(draft.group.all_topic_names())
        if changed or draft.group.epoch == 0 or now != draft.group.metadata_hash:
            begin_epoch(draft, now)
    if draft.group.epoch <= draft.group.target_epoch:
        return 0
    wait = wait_ms(draft.step, draft.group)
    if not wait:
        _assign(draft, topics)
    return wait


def wait_ms(step: Step, group: ConsumerGroup) -> int:
    interval_ms = step.context.settings.of_group(group.id).int("consumer.assignment.interval.ms")
    return group.wait_ms(step.now_ms, interval_ms)


def begin_epoch(draft: Draft, metadata_hash: int) -> None:
    draft.put_epoch(draft.group.epoch + 1, metadata_hash)
    draft.remove_topics_record()


def _resolve(draft: Draft, topics: Topics, regex: str, may_see: MaySee | None) -> None:
    matching = _selected(regex, topics, may_see)
    draft.put_pattern(regex, ResolvedPattern(matching, topics.version, draft.step.now_ms))


def _refresh_patterns(draft: Draft, topics: Topics, may_see: MaySee | None) -> None:
    """As in Kafka, the member whose request comes next decides by its rights for the whole group."""
    for regex, pattern in list(draft.group.patterns.items()):
        try:
            matching = _selected(regex, topics, may_see)
        except KafkaError as refusal:  # it was fine once; with more topics it takes too long
            draft.step.note(f"group {draft.group.id} keeps the topics it had: {refusal.message}")
            continue
        if matching != pattern.topics:
            draft.put_pattern(regex, ResolvedPattern(matching, topics.version, draft.step.now_ms))


def _selected(regex: str, topics: Topics, may_see: MaySee | None) -> frozenset[str]:
    """A topic that the client may not see is left out as if it did not exist."""
    matching = matching_topics(regex, topics.by_name)
    return matching if may_see is None else frozenset(filter(may_see, matching))


def _assign(draft: Draft, topics: Topics) -> None:
    group = draft.group
    read: dict[tuple[tuple[str, ...], str | None], frozenset[Uuid]] = {}
    members = {}
    for member_id, member in group.members.items():
        said = (member.topic_names, member.topic_regex)
        if said not in read:
            known = (topics.by_name.get(name) for name in group.topic_names(member))
            read[said] = frozenset(info.topic_id for info in known if info is not None)
        members[member_id] = MemberSpec(read[said], group.target(member_id), member.instance_id)
    wanted = frozenset().union(*read.values())
    partitions = {
        info.topic_id: info.partitions for info in topics.by_name.values() if info.topic_id in wanted
    }
    name, assign = _assignor(draft)
    for member_id, target in assign(partitions, members).items():
        if group.targets.get(member_id) != target:
            draft.put_target(member_id, target)
    # A target of nothing is no reason to wait: the topics of the first member may be about to come.
    draft.put_target_epoch(ConsumerTarget(group.epoch, draft.step.now_ms if partitions else 0))
    draft.step.note(
        f"group {group.id} assigned {sum(partitions.values())} partitions to {len(members)} members "
        f"for epoch {group.epoch} ({name})"
    )


def _assignor(draft: Draft) -> tuple[str, Assignor]:
    offered = draft.step.context.settings.consumer_assignors
    name = draft.group.assignor_name(offered[0])
    if name not in offered:  # it was, when the member joined
        name = offered[0]
    return name, ASSIGNORS[name]
