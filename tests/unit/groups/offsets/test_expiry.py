import pytest

from tidelog.groups.offsets import expiry as offset_expiry

HOUR = 3600


@pytest.fixture
def rig(make_rig):
    return make_rig(offsets_retention_ms=24 * HOUR * 1000, offsets_retention_check_interval_ms=60_000)


def stay(rig, seconds, member, generation):
    """Time passes and the member keeps sending heartbeats."""
    for _ in range(0, seconds, 1700):
        rig.pass_time(1700)
        rig.heartbeat(member, generation)


def test_a_simple_group_keeps_each_offset_from_its_last_commit(rig):
    rig.commit(partition=0)
    rig.pass_time(12 * HOUR)
    rig.commit(partition=1)
    rig.pass_time(12 * HOUR + 120)
    assert (rig.committed(partition=0), rig.committed(partition=1)) == (-1, 5)
    assert rig.state() == "Empty"
    rig.pass_time(12 * HOUR)
    assert rig.state() == "Dead"
    rig.reload()
    assert rig.shard.groups == {}


def test_a_group_keeps_its_offsets_from_when_it_became_empty(rig):
    generation, (leader,) = rig.stable(1, session_timeout_ms=1_800_000)
    rig.commit(member_id=leader, generation_id_or_member_epoch=generation)
    stay(rig, 48 * HOUR, leader, generation)
    assert rig.committed() == 5
    rig.leave(leader)
    rig.pass_time(23 * HOUR)
    rig.reload()  # the time survives in the record
    assert rig.committed() == 5
    rig.pass_time(HOUR + 120)
    assert rig.committed() == -1
    assert rig.state() == "Dead"


def test_offsets_of_topics_that_members_no_longer_read_expire(rig, subscription):
    generation, (leader,) = rig.stable(1, protocols=subscription("orders"), session_timeout_ms=1_800_000)
    for topic in ("orders", "old"):
        rig.commit(topic, member_id=leader, generation_id_or_member_epoch=generation)
    stay(rig, 25 * HOUR, leader, generation)
    assert (rig.committed("orders"), rig.committed("old")) == (5, -1)
    assert rig.state() == "Stable"


def test_an_empty_group_without_offsets_goes_at_the_next_sweep(rig):
    _, (leader,) = rig.stable(1)
    rig.leave(leader)
    assert rig.state() == "Empty"
    rig.pass_time(60)
    assert rig.state() == "Dead"
    assert rig.shard.durable.classic_groups == {}


def test_a_group_whose_new_member_is_about_to_come_back_stays(rig):
    pending = rig.new_id(session_timeout_ms=120_000)
    rig.pass_time(70)
    assert rig.join(pending).answer.generation_id == 1


def test_a_large_sweep_goes_in_pieces(rig, monkeypatch):
    monkeypatch.setattr(offset_expiry, "OFFSETS_PER_PIECE", 10)
    for group in range(20):
        for partition in range(5):
            rig.commit(partition=partition, group=f"g{group}")
    rig.pass_time(23 * HOUR)
    before, pieces = len(rig.records), []
    while len(rig.shard.durable.offsets):
        rig.now = rig.shard.next_deadline
        while (decision := rig.shard.tick(rig.now, rig.now_ms)) is not None:
            pieces.append(len(decision.records))
            rig.run(decision)
    assert max(pieces) <= 12
    assert len(rig.records) - before == 20 * 5 + 20
    assert rig.shard.groups == {}
