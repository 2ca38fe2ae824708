"""The driver of the Raft core: who asks it for something is answered, whatever becomes of it."""

import asyncio

import pytest

from tidelog.raft.errors import NotLeader
from tidelog.testing.quorum_rig import QuorumRig
from tidelog.testing.virtual_time import run


def test_who_waits_for_a_turn_is_told_when_there_will_be_none() -> None:
    async def life() -> None:
        rig = QuorumRig()
        await rig.start()
        quorum = rig.quorum

        def breaks() -> None:
            raise RuntimeError("a bug")

        quorum.soon(breaks)
        waiting = asyncio.get_running_loop().create_task(quorum.do(lambda: 1))
        with pytest.raises(NotLeader):
            await asyncio.wait_for(waiting, 5)
        assert isinstance(quorum.failure, RuntimeError)
        with pytest.raises(NotLeader):
            await asyncio.wait_for(quorum.do(lambda: 1), 5)
        await rig.stop()

    run(life())


def test_nobody_waits_for_a_quorum_that_was_stopped() -> None:
    async def life() -> None:
        rig = QuorumRig()
        await rig.start()
        waiting = asyncio.get_running_loop().create_task(rig.quorum.do(lambda: 1))
        await asyncio.sleep(0)  # it has asked
        await rig.quorum.stop()
        with pytest.raises(NotLeader):
            await asyncio.wait_for(waiting, 5)
        with pytest.raises(NotLeader):
            await asyncio.wait_for(rig.quorum.do(lambda: 1), 5)
        await rig.stop()

    run(life())
