"""Groups of the new protocol (KIP-848), and members of both protocols in one group."""

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
NEW = ("broker:uniform", "broker:range")


@pytest.fixture(params=["confluent", "java"])
def speaker(request: pytest.FixtureRequest, open_client: Callable[[str], Any]) -> Any:
    """A client that speaks the new protocol."""
    return open_client(request.param)


@pytest.mark.parametrize("assignor", NEW)
def test_members_share_partitions_while_they_come_and_go(
    speaker: Any, assignor: str, reference: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=PARTITIONS)
    writer = Writer(reference, topic, PARTITIONS)

    def join() -> Any:
        opened.append(speaker.join_group(group, topic, assignor=assignor))
        return opened[-1]

    first = join()
    wait_until_shared([first], PARTITIONS)
    writer.write()
    second = join()
    wait_until_shared([first, second], PARTITIONS)
    third = join()
    wait_until_shared([first, second, third], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    second.close()
    wait_until_shared([first, third], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    for member in opened:
        member.close()
    check_order(opened)
    check_one_owner(opened)
    assert not [member.failures for member in opened if member.failures]


def test_a_group_changes_its_protocol_and_back_while_it_reads(
    open_client: Callable[[str], Any], reference: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    """Classic members, both kinds, new ones only, and classic ones again: nobody misses a record."""
    topic = group = make_topic(partitions=PARTITIONS)
    writer = Writer(reference, topic, PARTITIONS)

    def join(name: str, assignor: str) -> Any:
        opened.append(open_client(name).join_group(group, topic, assignor=assignor))
        return opened[-1]

    old = join("confluent", "cooperative-sticky")
    wait_until_shared([old], PARTITIONS)
    writer.write()
    new = join("java", "broker:uniform")
    wait_until_shared([old, new], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    old.close()
    wait_until_shared([new], PARTITIONS)
    writer.write()
    again = join("confluent", "cooperative-sticky")
    wait_until_shared([new, again], PARTITIONS)
    new.close()
    wait_until_shared([again], PARTITIONS)
    writer.write()
    wait_until_read(opened, writer.written)
    for member in opened:
        member.close()
    check_order(opened)
    check_one_owner(opened)
