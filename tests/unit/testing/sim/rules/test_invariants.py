"""The rules that hold inside a cluster, each against brokers that break it and brokers that do not."""

from types import SimpleNamespace
from typing import Any

from tidelog.testing.sim.rules.invariants import CommittedEntries, Offsets, PartitionLeaders, RaftLeaders


def broker(id: int, *partitions: Any, **raft: Any) -> Any:
    return SimpleNamespace(
        machine=SimpleNamespace(id=id),
        life=f"n{id}.1",
        partitions=partitions,
        raft=SimpleNamespace(**raft),
        raft_log=raft.get("log"),
    )


def partition(*, leads: bool = True, epoch: int = 1, bounds: tuple[int, int, int, int] = (0, 5, 5, 9)) -> Any:
    start, stable, watermark, end = bounds
    return SimpleNamespace(
        topic="t",
        index=0,
        is_leader=leads,
        leader_epoch=epoch,
        last_stable_offset=stable,
        high_watermark=watermark,
        log=SimpleNamespace(start=start, end=end, offline=None),
    )


def entries(*terms: int) -> Any:
    return SimpleNamespace(base_index=-1, entry=lambda index: SimpleNamespace(term=terms[index], data=b"x"))


def test_two_leaders_of_one_epoch() -> None:
    rule = PartitionLeaders()
    assert list(rule.check([broker(1, partition()), broker(2, partition(leads=False))])) == []
    assert list(rule.check([broker(2, partition(epoch=2))])) == []
    [told] = rule.check([broker(3, partition(epoch=1))])
    assert told == "t-0: 1 and 3 lead in epoch 1"


def test_two_leaders_of_one_term() -> None:
    rule = RaftLeaders()
    assert list(rule.check([broker(1, is_leader=True, term=4), broker(2, is_leader=False, term=4)])) == []
    assert list(rule.check([broker(2, is_leader=True, term=5)])) == []
    assert list(rule.check([broker(2, is_leader=True, term=4)])) == ["1 and 2 lead the quorum in term 4"]


def test_a_committed_entry_that_changes() -> None:
    rule = CommittedEntries()
    assert list(rule.check([broker(1, commit_index=1, log=entries(1, 1))])) == []
    assert list(rule.check([broker(2, commit_index=0, log=entries(1, 2))])) == [], "not committed yet"
    [told] = rule.check([broker(2, commit_index=1, log=entries(1, 2))])
    assert "entry 1 of the metadata" in told


def test_offsets_out_of_order() -> None:
    rule = Offsets()
    assert list(rule.check([broker(1, partition())])) == []
    for bounds in ((6, 5, 5, 9), (0, 6, 5, 9), (0, 5, 10, 9)):
        assert len(list(Offsets().check([broker(1, partition(bounds=bounds))]))) == 1


def test_a_high_watermark_that_goes_back() -> None:
    rule = Offsets()
    assert list(rule.check([broker(1, partition(bounds=(0, 5, 5, 9)))])) == []
    assert list(rule.check([broker(1, partition(bounds=(0, 4, 4, 9), epoch=2))])) == [], "another epoch"
    [told] = rule.check([broker(1, partition(bounds=(0, 4, 4, 9)))])
    assert "went from 5 to 4" in told
