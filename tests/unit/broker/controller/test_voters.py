"""Changes of who votes: what cannot be read again is refused, and nobody waits for ever."""

import asyncio
from typing import Any

import pytest

from tests.rigs.quorum import QuorumRig
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.controller.voters import Voters
from tidelog.raft.entries import Configuration, Voter
from tidelog.raft.messages import AppendEntriesResponse, FindLeader

DISK = bytes([4] * 16)


async def with_an_observer(rig: QuorumRig) -> None:
    """Node 4 follows the metadata of node 1, and has all of it."""
    await rig.start()
    raft = rig.quorum.raft
    rig.quorum.receive(FindLeader(4, DISK, raft.term, "four:9092"))
    await asyncio.sleep(0.5)
    rig.quorum.receive(AppendEntriesResponse(4, DISK, raft.term, 0, accepted=True, index=raft.last_index))
    await asyncio.sleep(0.1)


@pytest.mark.parametrize("address", ["nonsense", "four:0", "f" * 600 + ":9092"])
def test_an_address_that_nobody_could_read_again_is_refused(address: str) -> None:
    async def life() -> None:
        rig = QuorumRig()
        await with_an_observer(rig)
        before = rig.quorum.raft.last_index
        with pytest.raises(KafkaError) as refused:
            await Voters(rig.metadata).add(4, address, None, wait=True)
        assert refused.value.code is ErrorCode.INVALID_REQUEST
        assert rig.quorum.raft.last_index == before
        assert rig.quorum.failure is None
        await rig.stop()

    run(life())


def test_nobody_waits_for_ever_for_voters_to_agree() -> None:
    async def life() -> None:
        rig = QuorumRig()
        await with_an_observer(rig)
        with pytest.raises(KafkaError) as refused:  # two votes are needed now, and node 4 says nothing
            await asyncio.wait_for(Voters(rig.metadata).add(4, "four:9092", None, wait=True), 60)
        assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
        await rig.stop()

    run(life())


def test_a_change_that_another_controller_undid_is_not_said_to_be_made() -> None:
    async def life() -> None:
        rig = QuorumRig()
        await with_an_observer(rig)
        voters: Any = Voters(rig.metadata)
        with pytest.raises(KafkaError) as refused:
            await voters._until_agreed(0, Configuration((Voter(1, "one:9092"), Voter(4, "four:9092"))))
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        await rig.stop()

    run(life())
