"""Consumer groups of each client: members share the partitions, come and go, and the group gets all."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.group_member import (
    Writer,
    check_one_owner,
    check_order,
    wait_until_read,
    wait_until_shared,
)

PARTITIONS = 6


@pytest.mark.needs("join_group")
def test_one_member_gets_everything_and_every_group_does(
    client: Any, reference: Any, make_topic: Callable[..., str], group: str, opened: list[Any]
) -> None:
    topic = make_topic(partitions=3)
    writer = Writer(reference, topic, 3)
    writer.write(20)
    opened += [client.join_group(f"{group}-{n}", topic) for n in range(2)]
    for member in opened:
        wait_until_read([member], writer.written)
    writer.write()
    for member in opened:
        wait_until_read([member], writer.written)
        assert member.owned == {0, 1, 2}
        assert sorted(member.records) == sorted(writer.written)
    check_order(opened)


@pytest.mark.needs("join_group")
def test_members_share_partitions_while_they_come_and_go(
    client: Any, assignor: str, reference: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=PARTITIONS)
    writer = Writer(reference, topic, PARTITIONS)

    def join() -> Any:
        opened.append(client.join_group(group, topic, assignor=assignor))
        return opened[-1]

    first = join()
    wait_until_shared([first], PARTITIONS)
    writer.write()
    second = join()
    wait_until_shared([first, second], PARTITIONS)
    writer.write()
    third = join()
    wait_until_shared([first, second, third], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    assert reference.describe_group(group).assignor in (assignor, "RoundRobinAssigner")
    second.close()
    wait_until_shared([first, third], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    back = join()
    wait_until_shared([first, third, back], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    for member in opened:
        member.close()
    check_order(opened)
    check_one_owner(opened)
    assert not [member.failures for member in opened if member.failures]
