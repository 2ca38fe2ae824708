"""The driver of the Raft core: whoever asks is answered, and a leader hands over when it ends."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.quorum import QuorumRig
from tests.rigs.virtual_time import run
from tidelog.broker.controller.quorum import INBOX_BYTES_MAX, INBOX_MAX, Quorum
from tidelog.raft.entries import Entry, EntryKind
from tidelog.raft.errors import ChangeRefused, NotLeader
from tidelog.raft.messages import AppendEntries, TimeoutNow


class Refusing:
    is_leader = True
    configuration = SimpleNamespace(voters=(1, 2, 3))

    def __init__(self, refusal: Exception) -> None:
        self._refusal = refusal

    def transfer_leadership(self, to: object, now: float) -> None:
        raise self._refusal


@pytest.mark.parametrize("refusal", [ChangeRefused("no other voter answers"), NotLeader(2)])
def test_a_leader_that_cannot_hand_over_stops_in_peace(
    refusal: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def do(self: Quorum, work: Any) -> Any:
        return work()

    async def work() -> None:
        nothing: Any = None
        raft: Any = Refusing(refusal)
        clock: Any = SimpleNamespace(monotonic=lambda: 0.0)
        quorum = Quorum(raft, nothing, clock=clock, run_in_thread=nothing, send=nothing, committed=nothing)
        await quorum.hand_over()

    monkeypatch.setattr(Quorum, "do", do)
    run(work())


@pytest.mark.parametrize(
    ("size", "taken"), [(0, INBOX_MAX), (INBOX_BYTES_MAX // 4, 4), (INBOX_BYTES_MAX - 1, 1), (2**40, 1)]
)
def test_what_waits_for_a_busy_disk_is_bounded(
    size: int, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def life() -> None:
        rig = QuorumRig()
        await rig.start()
        steps: list[object] = []
        monkeypatch.setattr(rig.quorum.raft, "step", lambda message, now: steps.append(message))
        for turn in (1, 2):
            for _ in range(INBOX_MAX + 10):
                rig.quorum.receive(TimeoutNow(7, bytes(16), 1), size)
            await asyncio.sleep(0.01)
            assert len(steps) == turn * taken
        await rig.stop()

    run(life())


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


def test_without_room_on_its_disk_a_broker_still_knows_who_leads_in_which_term() -> None:
    async def life() -> None:
        rig = QuorumRig(voters=(1, 2, 3))
        await rig.start()

        async def hear(leader: int, term: int) -> tuple[int | None, int]:
            rig.quorum.receive(
                AppendEntries(
                    sender=leader,
                    storage=bytes([leader]) * 16,
                    term=term,
                    address=f"127.0.0.{leader}:9092",
                    previous_index=0,
                    previous_term=0,
                    commit=0,
                    round=1,
                    entries=(Entry(term, EntryKind.DATA, b"x" * 1000),),
                )
            )
            await asyncio.sleep(0.01)
            return rig.metadata.controller_id, rig.metadata.term

        rig.disk.capacity_bytes = 0
        assert await hear(2, 5) == (2, 5)
        assert rig.quorum.disk_full is not None
        assert await hear(3, 7) == (3, 7)
        assert await hear(3, 9) == (3, 9), "elected again"
        assert await hear(2, 5) == (3, 9)
        await rig.stop()

    run(life())
