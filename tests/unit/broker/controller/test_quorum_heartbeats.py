"""While a disk takes its time, heartbeats go on; not for ever."""

import asyncio
from typing import Any

from tests.rigs.quorum import LoopClock
from tests.rigs.virtual_time import run
from tidelog.broker.controller.quorum_heartbeats import PATIENCE_SECONDS, QuorumHeartbeats
from tidelog.raft.messages import Addressed, TimeoutNow
from tidelog.raft.ready import Ready

HEARTBEAT: Addressed = (2, TimeoutNow(1, bytes(16), 1))


class Leader:
    heartbeat_interval = 0.2

    def heartbeats_during(self, ready: Ready) -> list[Addressed]:
        return [HEARTBEAT]

    def heartbeat_response_during(self, ready: Ready, message: object) -> Addressed | None:
        return HEARTBEAT


def beats(seconds: float) -> int:
    """How many leave during a write of this length, and that none does afterwards."""

    async def life() -> int:
        sent: list[Addressed] = []
        leader: Any = Leader()
        signs = QuorumHeartbeats(leader, LoopClock(), sent.extend)
        with signs.during(Ready()):
            await asyncio.sleep(seconds)
        count = len(sent)
        await asyncio.sleep(5)
        signs.received(HEARTBEAT[1])
        assert len(sent) == count
        return count

    return run(life())


def test_a_quick_write_needs_none() -> None:
    assert beats(0.1) == 0


def test_a_slow_write_is_bridged() -> None:
    assert beats(5.1) == 25


def test_a_disk_that_hangs_is_not_covered_up() -> None:
    assert beats(10 * PATIENCE_SECONDS) <= PATIENCE_SECONDS / Leader.heartbeat_interval + 1


def test_what_comes_in_is_acknowledged_at_once() -> None:
    async def life() -> None:
        sent: list[Addressed] = []
        leader: Any = Leader()
        signs = QuorumHeartbeats(leader, LoopClock(), sent.extend)
        with signs.during(Ready()):
            signs.received(HEARTBEAT[1])
            assert sent == [HEARTBEAT]

    run(life())
