"""From the classic kind of group to the new one and back, while its members go on.

Up: a member of the new protocol joins a classic group. Down: the last such member goes, and only members of
the classic protocol are left. Between the two, one group has members of both protocols.
"""

from collections import Counter

from tidelog.base.errors import ErrorCode, KafkaError, StorageError
from tidelog.base.ids import Uuid
from tidelog.coordination.decision import StateRecord
from tidelog.groups.classic import lifecycle
from tidelog.groups.classic.group import ClassicGroup
from tidelog.groups.classic.member import Member
from tidelog.groups.classic.messages import JoinAnswer, SyncAnswer
from tidelog.groups.classic.rebalance import prepare
from tidelog.groups.consumer.draft import Draft
from tidelog.groups.consumer.embedded_protocol import (
    by_id,
    by_name,
    read_assignment,
    read_subscription,
    write_assignment,
)
from tidelog.groups.consumer.group import ConsumerGroup
from tidelog.groups.consumer.room import ConsumerRoom
from tidelog.groups.consumer.topics import Topics
from tidelog.groups.consumer_protocol import PROTOCOL_TYPE
from tidelog.groups.record_formats import group_metadata
from tidelog.groups.record_formats.assignment import Assignment
from tidelog.groups.record_formats.consumer_group import ClassicProtocols, ConsumerTarget, Subscription
from tidelog.groups.record_formats.group_metadata import StoredGroup, StoredMember
from tidelog.groups.record_formats.holding import Holding
from tidelog.groups.step import Step

UPGRADES = ("bidirectional", "upgrade")
DOWNGRADES = ("bidirectional", "downgrade")


def upgrade(step: Step, room: ConsumerRoom, topics: Topics, classic: ClassicGroup) -> Draft:
    """A classic group with members as one of the new kind; KafkaError where that cannot be."""
    settings = step.context.settings
    allowed = (
        settings.consumer_migration_policy in UPGRADES
        and classic.protocol_type == PROTOCOL_TYPE
        and len(classic.members) <= settings.consumer_members_max
    )
    if not allowed:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {classic.id} is not a consumer group.")
    draft = Draft(step, ConsumerGroup(classic.id))
    try:
        members = {one.id: _subscription(classic, one) for one in classic.members.values()}
        assigned = _assigned(classic, topics)
    except StorageError as cause:
        why = f"Group {classic.id} cannot be upgraded: {cause}"
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, why) from cause
    step.records.extend(classic.tombstones())
    generation = classic.generation
    for member_id, member in members.items():
        draft.put_member(member_id, member)
    draft.put_epoch(generation, topics.hash_of(draft.group.all_topic_names()))
    for member_id, target in assigned.items():
        draft.put_target(member_id, target)
    draft.put_target_epoch(ConsumerTarget(generation))
    for member_id, target in assigned.items():
        draft.put_holding(member_id, Holding(generation, generation, assigned=target))
        room.timers.drop(classic.id, member_id)  # of a time when the group was of the new kind before
        room.start_session(step, classic.id, member_id, members[member_id])
    for waiting in classic.members.values():  # they rejoin, and find a group of the new kind
        classic.answer_join(waiting, JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, waiting.id))
        classic.answer_sync(waiting, SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
    step.note(f"group {classic.id} becomes one of the new kind with {len(members)} classic members")
    return draft


def can_downgrade(step: Step, group: ConsumerGroup, leaving_id: str | None) -> bool:
    """Whether only members of the classic protocol, and at least one, are left once this one goes."""
    settings = step.context.settings
    goes = leaving_id is not None
    if leaving_id is not None and group.members[leaving_id].classic is not None:
        return False
    left = len(group.members) - goes
    return (
        0 < left <= settings.members_max
        and group.classic_members == left
        and settings.consumer_migration_policy in DOWNGRADES
    )


def downgrade(draft: Draft, room: ConsumerRoom, leaving_id: str | None) -> None:
    """Make a classic group of the members that stay, and have them rebalance among themselves."""
    step, group = draft.step, draft.group
    topics = room.topics or Topics()
    staying = {one: member for one, member in group.members.items() if one != leaving_id}
    protocol = _common_protocol(staying)
    members = tuple(_stored(group, one, member, protocol, topics) for one, member in staying.items())
    stored = StoredGroup(PROTOCOL_TYPE, group.epoch, protocol, members[0].member_id, step.now_ms, members)
    step.records.extend(group.tombstones())
    key, value = group_metadata.encode_key(group.id), group_metadata.encode_value(stored)

    def start(step: Step, _error: ErrorCode = ErrorCode.NONE) -> None:
        # Also where the record was appended and may never be committed: members need a session all the same.
        classic = room.groups.get(group.id)
        if isinstance(classic, ClassicGroup) and classic.members:
            lifecycle.start_sessions(step, classic)
            prepare(step, classic, "the last member of the new protocol is gone")

    step.append(StateRecord(key, value), committed=start, failed=start)
    step.note(f"group {group.id} becomes a classic one with {len(members)} members")


def _subscription(classic: ClassicGroup, member: Member) -> Subscription:
    preferred = member.protocols[0][1] if classic.protocol is None else member.metadata(classic.protocol)
    embedded = read_subscription(preferred)
    return Subscription(
        instance_id=member.instance_id,
        rack_id=embedded.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(set(embedded.topics))),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicProtocols(member.session_timeout_ms, member.protocols),
    )


def _assigned(classic: ClassicGroup, topics: Topics) -> dict[str, Assignment]:
    """What the last leader assigned, unchecked: a partition that was given twice stays with the first."""
    taken: set[tuple[Uuid, int]] = set()
    assigned: dict[str, Assignment] = {}
    for member in classic.members.values():
        kept: Assignment = {}
        for topic, numbers in by_id(read_assignment(member.assignment), topics).items():
            if free := frozenset(number for number in numbers if (topic, number) not in taken):
                kept[topic] = free
                taken.update((topic, number) for number in free)
        assigned[member.id] = kept
    return assigned


def _common_protocol(members: dict[str, Subscription]) -> str:
    knowing = Counter(
        name for member in members.values() if member.classic for name, _ in member.classic.protocols
    )
    return knowing.most_common(1)[0][0]


def _stored(
    group: ConsumerGroup, member_id: str, member: Subscription, protocol: str, topics: Topics
) -> StoredMember:
    classic = member.classic or ClassicProtocols(0, ())
    subscription = dict(classic.protocols).get(protocol, b"")
    version = int.from_bytes(subscription[:2], "big")
    assigned = by_name(group.holding(member_id).assigned, topics)
    return StoredMember(
        member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        classic.session_timeout_ms,
        subscription,
        write_assignment(assigned, version),
    )
