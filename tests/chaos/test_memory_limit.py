"""A broker in a cgroup with little memory: it knows its limit, and gives memory back in time."""

import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.chaos.memory_cgroup import MemoryCgroup, NoCgroup
from tests.chaos.victim import PATIENCE_S, Victim, wait_until
from tests.faults.log_calls import batch, create_topic, produce
from tests.faults.raw_client import RawClient

pytestmark = pytest.mark.timeout(200)

MIB = 1 << 20
LIMIT = 256 * MIB
FRAME = 20 * MIB


class LimitedVictim(Victim):
    wrapper: list[str]

    def _wrapper(self) -> list[str]:
        return self.wrapper


@pytest.fixture
def cgroup() -> Iterator[MemoryCgroup | None]:
    try:
        made = MemoryCgroup(LIMIT)
    except NoCgroup:
        yield None
        return
    yield made
    made.remove()


@pytest.fixture
def broker(tmp_path, cgroup: MemoryCgroup | None) -> Iterator[LimitedVictim]:
    made = LimitedVictim(tmp_path / "broker", {})
    # Where no cgroup can be made, the address space has a limit, which needs no rights.
    made.wrapper = ["sh", "-c", 'ulimit -v 4000000; exec "$@"', "sh"] if cgroup is None else cgroup.wrapper
    made.start()
    yield made
    made.kill()


def test_a_flood_of_large_requests_does_not_end_the_broker(
    broker: LimitedVictim, cgroup: MemoryCgroup | None
) -> None:
    """Their beginnings together are more than the limit."""
    with RawClient(broker.port) as client, contextlib.ExitStack() as flood:
        create_topic(client, "t")
        for _ in range(30):
            large = flood.enter_context(socket.create_connection(("127.0.0.1", broker.port)))
            large.setblocking(False)
            with contextlib.suppress(OSError):
                large.send(struct.pack(">i", FRAME))
            for _ in range(2 * FRAME // MIB):
                with contextlib.suppress(OSError):
                    large.send(bytes(MIB))
            assert produce(client, "t", batch(b"small")).error_code == 0
        assert broker.is_running
        assert cgroup is None or "requests may hold 64 MiB" in broker.log_text()


def test_memory_that_is_short_is_noticed_before_the_kernel_kills(
    broker: LimitedVictim, cgroup: MemoryCgroup | None
) -> None:
    with RawClient(broker.port) as client:
        create_topic(client, "t")
        if cgroup is not None:
            with cgroup.ballast(0.94):
                wait_until(lambda: "memory is short" in broker.log_text(), broker.log_tail, PATIENCE_S)
                assert produce(client, "t", batch(b"small")).error_code == 0
            wait_until(lambda: "memory is enough again" in broker.log_text(), broker.log_tail, PATIENCE_S)
        assert produce(client, "t", batch(bytes(MIB // 2))).error_code == 0
    assert "Traceback" not in broker.log_text()
