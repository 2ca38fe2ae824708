"""What members commit is kept, with the words beside it, for the next member and for other clients."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.driver import Record
from tests.interop.group_member import Committed, Writer, check_order, wait_until_read
from tests.interop.waiting import eventually


def kept(witness: Any, group: str) -> dict[int, Committed]:
    """What the group committed for its only topic; confluent-kafka sends the NUL of a C string along."""
    return {
        index: Committed(one.offset, one.metadata.rstrip("\0"))
        for (_, index), one in witness.group_offsets(group).items()
    }


def start_of(member: Any) -> dict[int, int]:
    """The first offset that a member read of each partition."""
    first: dict[int, int] = {}
    for index, offset in member.records:
        first.setdefault(index, offset)
    return first


@pytest.mark.needs("join_group")
def test_automatic_commits_let_the_next_member_go_on(
    client: Any, reference: Any, witness: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=2)
    writer = Writer(reference, topic, 2)
    writer.write(10)
    member = client.join_group(group, topic)
    opened.append(member)
    wait_until_read([member], writer.written)
    eventually(lambda: {index: one.offset for index, one in kept(witness, group).items()} == {0: 10, 1: 10})
    member.close()
    later = writer.write(3)
    follower = client.join_group(group, topic)
    opened.append(follower)
    wait_until_read([follower], later)
    assert sorted(follower.records) == sorted(later)
    check_order(opened)


@pytest.mark.needs("join_group", "can_commit")
def test_commits_by_hand(
    client: Any, reference: Any, witness: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=3)
    writer = Writer(reference, topic, 3)
    writer.write(10)
    member = client.join_group(group, topic, auto_commit=False)
    opened.append(member)
    wait_until_read([member], writer.written)
    assert kept(witness, group) == {}
    assert member.committed([0, 1, 2]) == {}
    named = {0: Committed(4, "half way: ½"), 1: Committed(0)}
    member.commit(named)
    assert kept(witness, group) == named
    offsets = {index: one.offset for index, one in member.committed([0, 1, 2]).items()}
    assert offsets == {0: 4, 1: 0}
    if "member" in client.metadata_readers:
        assert member.committed([0])[0].metadata == "half way: ½"
    member.commit({2: Committed(7, "later")}, wait=False)
    eventually(lambda: kept(witness, group).get(2) == (7, "later"))
    member.close()
    follower = client.join_group(group, topic, auto_commit=False)
    opened.append(follower)
    wait_until_read([follower], [(index, 9) for index in range(3)])
    assert start_of(follower) == {0: 4, 1: 0, 2: 7}
    follower.commit()
    assert {index: one.offset for index, one in follower.committed([0, 1, 2]).items()} == {
        0: 10,
        1: 10,
        2: 10,
    }
    reference.produce(topic, [Record(b"k", b"v")])
    wait_until_read([follower], [(0, 10)])
    follower.commit(wait=False)
    eventually(lambda: kept(witness, group)[0].offset == 11)
    check_order(opened)


@pytest.mark.needs("join_group")
def test_where_to_start_without_an_offset_or_with_one_that_is_gone(
    client: Any, reference: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    """Partition 0 has no committed offset; that of 1 points at deleted records; that of 2 is fine."""
    topic = make_topic(partitions=3)
    writer = Writer(reference, topic, 3)
    writer.write(10)
    reference.delete_records(topic, 5, partition=1)
    resets = getattr(client, "resets", ("earliest", "latest", "none"))
    groups = {reset: f"{topic}-{reset}" for reset in resets}
    members = {}
    for reset, group in groups.items():
        reference.alter_group_offsets(group, {(topic, 1): Committed(2), (topic, 2): Committed(8)})
        members[reset] = client.join_group(group, topic, reset=reset)
    opened += members.values()
    expected = [(0, offset) for offset in range(10)] + [(1, offset) for offset in range(5, 10)]
    wait_until_read([members["earliest"]], [*expected, (2, 8), (2, 9)])
    assert start_of(members["earliest"]) == {0: 0, 1: 5, 2: 8}
    latest = members["latest"]
    wait_until_read([latest], [(2, 8), (2, 9)])
    # From the end it reads what comes later, and the end is looked up at a moment of its own.
    eventually(lambda: bool(writer.write(1)) and {0, 1, 2} <= set(start_of(latest.look())))
    first = start_of(latest)
    assert first[0] >= 10
    assert first[1] >= 10
    assert first[2] == 8
    if "none" in members:
        refused = members["none"]
        eventually(lambda: 1 in refused.look().failures)
        assert 1 not in start_of(refused)
