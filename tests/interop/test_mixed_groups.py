"""One group with a member of every client at once: they share, crash, freeze and come back."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.group_member import (
    Writer,
    check_one_owner,
    check_order,
    wait_for,
    wait_until_read,
    wait_until_shared,
)

SHORT_SESSION_MS = 2_000
PARTITIONS = 12


def able(assignor: str) -> list[str]:
    return [name for name, client in CLIENTS.items() if assignor in client.driver.assignors]


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_every_client_is_a_member(
    open_client: Callable[[str], Any],
    reference: Any,
    make_topic: Callable[..., str],
    opened: list[Any],
    assignor: str,
) -> None:
    """Leaders of all languages assign: each member that comes first leads, until it leaves first."""
    # KafkaJS calls another assignor of its own roundrobin.
    names = [name for name in able(assignor) if (name, assignor) != ("kafkajs", "roundrobin")]
    topic = group = make_topic(partitions=PARTITIONS)
    writer = Writer(reference, topic, PARTITIONS)
    for name in names:
        opened.append(open_client(name).join_group(group, topic, assignor=assignor))
        wait_until_shared(opened, PARTITIONS)
        writer.write()
    wait_until_read(opened, writer.written)
    described = reference.describe_group(group)
    assert (described.state, described.assignor) == ("stable", assignor)
    owned = sorted(sorted(index for _, index in member.partitions) for member in described.members)
    assert owned == sorted(sorted(member.owned) for member in opened)
    staying = list(opened)
    while len(staying) > 1:
        staying.pop(0).close()
        wait_until_shared(staying, PARTITIONS)
        writer.write()
        # kcat commits what it was about to print when it was told to end: let nobody leave in the middle.
        wait_until_read(opened, writer.written)
    staying.pop().close()
    assert reference.describe_group(group).state == "empty"
    check_order(opened)
    check_one_owner(opened)


@pytest.mark.parametrize("name", able("range"))
def test_a_member_that_crashes_is_missed_and_may_come_back(
    open_client: Callable[[str], Any],
    reference: Any,
    make_topic: Callable[..., str],
    opened: list[Any],
    name: str,
) -> None:
    topic = group = make_topic(partitions=4)
    writer = Writer(reference, topic, 4)
    survivor = open_client("confluent").join_group(group, topic)
    opened.append(survivor)

    def join() -> Any:
        options = {"session_timeout_ms": SHORT_SESSION_MS, "own_process": True}
        opened.append(open_client(name).join_group(group, topic, **options))
        wait_until_shared([survivor, opened[-1]], 4)
        return opened[-1]

    victim = join()
    writer.write()
    wait_until_read(opened, writer.written)
    victim.kill()
    writer.write()
    wait_until_shared([survivor], 4)
    wait_until_read([survivor, victim], writer.written)
    frozen = join()
    writer.write()
    wait_until_read(opened, writer.written)
    # Frozen it sends no heartbeats; awake again it learns that the group went on, and joins anew.
    frozen.signal(signal.SIGSTOP)
    try:
        wait_until_shared([survivor], 4)
        writer.write()
        wait_until_read([survivor, victim], set(writer.written) - set(frozen.records))
    finally:
        frozen.signal(signal.SIGCONT)
    wait_for([survivor, frozen], lambda: len(survivor.owned) == 2, "it comes back")
    wait_until_shared([survivor, frozen], 4)
    writer.write()
    wait_until_read(opened, writer.written)
    check_order([survivor, victim])
