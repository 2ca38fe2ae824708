"""Static members (group.instance.id) of each client: restarts without a rebalance, and fencing."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.driver import Code
from tests.interop.group_member import Writer, wait_for, wait_until_read, wait_until_shared


@pytest.mark.needs("join_group", "can_be_static")
def test_a_static_member_restarts_without_a_rebalance(
    client: Any, reference: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=4)
    writer = Writer(reference, topic, 4)

    def join(instance: str) -> Any:
        opened.append(client.join_group(group, topic, instance_id=instance, own_process=instance == "b"))
        return opened[-1]

    staying, leaving = join("a"), join("b")
    wait_until_shared([staying, leaving], 4)
    writer.write()
    wait_until_read(opened, writer.written)
    described = reference.describe_group(group)
    assert {member.instance_id for member in described.members} == {"a", "b"}
    owned, rebalances = leaving.owned, staying.rebalances
    leaving.kill()
    back = join("b")
    wait_for([staying, back], lambda: back.owned == owned, "it gets its partitions back")
    writer.write()
    wait_until_read(opened, writer.written)
    time.sleep(0.5)  # two heartbeats: by now a rebalance would be known
    assert staying.look().rebalances == rebalances
    assert {member.instance_id for member in reference.describe_group(group).members} == {"a", "b"}


@pytest.mark.needs("join_group", "can_be_static", "tells_of_fencing")
def test_the_second_of_a_name_fences_the_first(
    client: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=2)
    first = client.join_group(group, topic, instance_id="a")
    opened.append(first)
    wait_until_shared([first], 2)
    second = client.join_group(group, topic, instance_id="a")
    opened.append(second)
    wait_until_shared([second], 2)
    wait_for([first], lambda: Code.FENCED_INSTANCE_ID in first.failures, "the first one is told")
    assert not second.look().failures
