"""Groups through each client's admin calls: list, describe, delete, and their offsets."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.driver import Code, Refused
from tests.interop.group_member import Committed, Writer, wait_until_read, wait_until_shared
from tests.interop.waiting import eventually


@pytest.fixture
def reader(reference: Any, make_topic: Callable[..., str], opened: list[Any]) -> Any:
    """A member that has read all of a topic of two partitions; the group is called as the topic."""
    topic = make_topic(partitions=2)
    writer = Writer(reference, topic, 2)
    writer.write(10)
    member = reference.join_group(topic, topic)
    opened.append(member)
    member.group = member.topic = topic
    wait_until_shared([member], 2)
    wait_until_read([member], writer.written)
    return member


@pytest.mark.needs("list_groups")
def test_list_and_describe(client: Any, reader: Any) -> None:
    listed = client.list_groups()
    assert listed[reader.group] in ("stable", None)
    described = client.describe_group(reader.group)
    assert (described.state, described.assignor) == ("stable", "range")
    [member] = described.members
    assert (member.client_id, member.instance_id) == ("confluent", None)
    assert member.host.lstrip("/") in ("127.0.0.1", "::1", "0:0:0:0:0:0:0:1")
    assert member.partitions == {(reader.topic, 0), (reader.topic, 1)}
    reader.close()
    eventually(lambda: client.describe_group(reader.group).state == "empty")
    assert client.describe_group(reader.group).members == []
    assert client.list_groups()[reader.group] in ("empty", None)


@pytest.mark.needs("group_offsets")
def test_offsets_of_a_group(client: Any, witness: Any, group: str, topic: str) -> None:
    assert client.group_offsets(group) == {}
    witness.alter_group_offsets(group, {(topic, 0): Committed(7, "seven")})
    words = "seven" if "admin" in client.metadata_readers else ""
    assert client.group_offsets(group) == {(topic, 0): (7, words)}


@pytest.mark.needs("delete_group")
def test_delete_a_group(client: Any, reader: Any) -> None:
    with pytest.raises(Refused) as refusal:
        client.delete_group(reader.group)
    assert refusal.value.code == Code.NON_EMPTY_GROUP
    reader.close()
    assert client.group_offsets(reader.group)
    client.delete_group(reader.group)
    assert reader.group not in client.list_groups()
    assert client.group_offsets(reader.group) == {}
    with pytest.raises(Refused) as refusal:
        client.delete_group(reader.group)
    assert refusal.value.code == Code.GROUP_ID_NOT_FOUND


@pytest.mark.needs("alter_group_offsets")
def test_alter_offsets(client: Any, witness: Any, reader: Any) -> None:
    wanted = {(reader.topic, 0): Committed(3), (reader.topic, 1): Committed(4)}
    if client.alters_without_joining:
        with pytest.raises(Refused) as refusal:
            client.alter_group_offsets(reader.group, wanted)
        assert refusal.value.code == Code.UNKNOWN_MEMBER_ID
    reader.close()
    client.alter_group_offsets(reader.group, wanted)
    altered = {place: one.offset for place, one in witness.group_offsets(reader.group).items()}
    assert altered == {(reader.topic, 0): 3, (reader.topic, 1): 4}


@pytest.mark.needs("delete_group_offsets")
def test_delete_offsets(client: Any, reference: Any, reader: Any) -> None:
    places = [(reader.topic, 0)]
    eventually(lambda: len(reference.group_offsets(reader.group)) == 2)
    with pytest.raises(Refused) as refusal:
        client.delete_group_offsets(reader.group, places)
    assert refusal.value.code == Code.GROUP_SUBSCRIBED_TO_TOPIC
    reader.close()
    client.delete_group_offsets(reader.group, places)
    assert set(reference.group_offsets(reader.group)) == {(reader.topic, 1)}
    with pytest.raises(Refused) as refusal:
        client.delete_group_offsets(f"no-{reader.group}", places)
    assert refusal.value.code == Code.GROUP_ID_NOT_FOUND


def test_offsets_go_with_their_topic(reference: Any, make_topic: Callable[..., str], group: str) -> None:
    kept, deleted = make_topic(), make_topic()
    reference.alter_group_offsets(group, {(kept, 0): Committed(1), (deleted, 0): Committed(2)})
    reference.delete_topic(deleted)
    eventually(lambda: set(reference.group_offsets(group)) == {(kept, 0)})
