"""The end of a leader's time: it hands over if somebody is there to take over."""

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.quorum import Quorum
from tidelog.raft.errors import ChangeRefused, NotLeader
from tidelog.testing.virtual_time import run


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
