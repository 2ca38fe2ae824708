"""Who is in sync, and how a change of that becomes true."""

import pytest
from msgspec.structs import replace

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.replication.follower_progress import FollowerProgress
from tidelog.replication.partition import CommittedIsr, IsrProposal

LAG_MAX = 30.0


def wanted(trio) -> IsrProposal | None:
    return trio[1].leader.isr_wanted(trio.now, LAG_MAX, lambda _: True)


def test_caught_up_is_who_has_what_the_leader_had_at_the_fetch_before() -> None:
    progress = FollowerProgress(caught_up_at=0.0)
    assert not progress.fetched(5, leader_end=10, now=1.0)
    assert progress.fetched(10, leader_end=20, now=2.0)
    assert progress.caught_up_at == 1.0
    assert progress.fetched(30, leader_end=30, now=3.0)
    assert progress.caught_up_at == 3.0
    assert not progress.fetched(29, leader_end=40, now=4.0)
    assert progress.caught_up_at == 3.0
    assert progress.is_in_time(40, now=3.0 + LAG_MAX, lag_max=LAG_MAX)
    assert not progress.is_in_time(40, now=3.1 + LAG_MAX, lag_max=LAG_MAX)
    assert progress.is_in_time(29, now=1000.0, lag_max=LAG_MAX), "an idle leader has nothing to fetch"


def test_one_who_stops_to_fetch_leaves_and_comes_back_when_it_has_all(trio) -> None:
    trio.start()
    trio.produce(1)
    trio.now += LAG_MAX
    assert wanted(trio) is None
    for _ in range(2):
        trio.fetch(3)
    trio.now += 1
    proposal = wanted(trio)
    assert proposal == IsrProposal((1, 3), (-1, 0), 0, 0)
    assert trio[1].leader.isr_proposed(proposal)
    assert wanted(trio) is None, "one change at a time"
    trio[1].leader.isr_answered(proposal, None, CommittedIsr(0, (1, 3), 1))
    assert trio[1].isr == (1, 2, 3), "a larger min.insync.replicas may be on its way before"
    assert trio.offsets(1) == (0, 1)
    trio.decide(isr=(1, 3))
    trio.tell(1)
    assert (trio[1].isr, trio[1].partition_epoch) == ((1, 3), 1)
    assert trio.offsets(1) == (1, 1)
    assert wanted(trio) is None
    assert not trio[1].leader.follower_fetched(2, 7, 0, trio.now)
    assert trio[1].leader.follower_fetched(2, 7, 1, trio.now)
    assert wanted(trio) == IsrProposal((1, 3, 2), (-1, 0, 7), 0, 1)


def test_the_leader_itself_always_stays(trio) -> None:
    trio.start()
    trio.produce(1)
    trio.now += 1000
    proposal = wanted(trio)
    assert proposal is not None
    assert proposal.isr == (1,)


def test_one_who_is_proposed_counts_before_the_controller_has_answered(trio) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.fetch(2)
    proposal = wanted(trio)
    assert proposal is not None
    assert trio[1].leader.isr_proposed(proposal)
    assert trio[1].leader.is_pending(proposal)
    trio.produce(1)
    assert trio.offsets(1) == (0, 1)


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_a_proposal_that_is_void_counts_no_more(trio, error: ErrorCode) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.fetch(2)
    proposal = wanted(trio)
    assert proposal is not None
    trio[1].leader.isr_proposed(proposal)
    trio.produce(1)
    trio[1].leader.isr_answered(proposal, error)
    assert not trio[1].leader.is_pending(proposal)
    assert trio.offsets(1) == (1, 1)


@pytest.mark.parametrize("error", [ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.FENCED_LEADER_EPOCH])
def test_a_proposal_that_may_have_been_done_counts_until_the_metadata_tell(trio, error: ErrorCode) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.fetch(2)
    proposal = wanted(trio)
    assert proposal is not None
    trio[1].leader.isr_proposed(proposal)
    trio.produce(1)
    trio[1].leader.isr_answered(proposal, error)
    assert trio[1].leader.is_pending(proposal)
    assert trio.offsets(1) == (0, 1)
    trio.decide(isr=(1,))
    trio.tell(1)
    assert not trio[1].leader.is_pending(proposal)
    assert trio.offsets(1) == (1, 1)


def test_a_late_answer_does_not_touch_the_next_proposal(trio) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.fetch(2)
    first = wanted(trio)
    assert first is not None
    trio[1].leader.isr_proposed(first)
    trio.decide(isr=(1,))
    trio.tell(1)
    trio.fetch(2)
    second = wanted(trio)
    assert second is not None
    trio[1].leader.isr_proposed(second)
    trio[1].leader.isr_answered(first, ErrorCode.INELIGIBLE_REPLICA)
    trio[1].leader.isr_answered(first, None, CommittedIsr(0, (1, 2), 2))
    assert trio[1].leader.is_pending(second)
    assert trio[1].isr == (1,)


def test_a_proposal_is_not_sent_once_the_high_watermark_has_passed_who_was_to_join(trio) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.fetch(2)
    proposal = wanted(trio)
    assert proposal is not None
    trio[1].leader.isr_wanted(trio.now, LAG_MAX, lambda _: False)  # nobody waits for it any more
    trio.produce(1)
    assert trio.offsets(1) == (1, 1)
    assert not trio[1].leader.isr_proposed(proposal)
    assert not trio[1].leader.is_pending(proposal)


def test_metadata_that_repeat_the_controllers_answer_leave_the_next_proposal_alone(trio) -> None:
    trio.start()
    trio.decide(isr=(1,))
    trio.tell()
    trio.fetch(2)
    first = wanted(trio)
    assert first is not None
    trio[1].leader.isr_proposed(first)
    image = trio.decide(isr=(1, 2))
    trio[1].leader.isr_answered(first, None, CommittedIsr(0, image.isr, image.partition_epoch))
    trio.fetch(3)
    second = wanted(trio)
    assert second is not None
    trio[1].leader.isr_proposed(second)
    trio.tell(1)
    assert trio[1].leader.is_pending(second)


def test_a_larger_set_waits_for_the_metadata_while_others_are_eligible_leaders(trio) -> None:
    """A larger minimum may be on its way: by that, those not in the set still count as eligible."""
    trio.start(min_insync_replicas=2)
    trio.image = replace(trio.image, isr=(1,), elr=(2, 3), partition_epoch=1)
    trio.tell()
    trio.produce(1, all_replicas=False)
    for _ in range(2):
        trio.fetch(2)
    proposal = wanted(trio)
    assert proposal is not None
    assert proposal.isr == (1, 2)
    assert trio[1].leader.isr_proposed(proposal)
    trio.image = replace(trio.image, isr=(1, 2), elr=(3,), partition_epoch=2)  # of three, for the controller
    trio[1].leader.isr_answered(proposal, None, CommittedIsr(0, (1, 2), 2))
    assert trio.offsets(1) == (0, 1), "broker 3 may be elected, and does not have it"
    trio[1].min_insync_replicas = 3
    trio.tell(1)
    assert trio[1].isr == (1, 2)
    assert trio.offsets(1) == (0, 1)


def test_nobody_joins_before_it_has_what_the_leader_began_with(trio) -> None:
    trio.start()
    trio.produce(1)
    trio.fetch(2)
    trio.decide(leader=2, isr=(1, 2))
    trio.tell()
    assert not trio[2].leader.follower_fetched(3, 0, 0, trio.now)
    assert trio[2].high_watermark == 0
    assert trio[2].leader.follower_fetched(3, 0, 1, trio.now)


def test_one_who_left_must_show_again_what_it_has(trio) -> None:
    """It may come back with an empty disk."""
    trio.start()
    for follower in (2, 3):
        trio.fetch(follower)
    trio.decide(isr=(1, 3))
    trio.tell(1)
    assert wanted(trio) is None
    trio.fetch(2, broker_epoch=5)
    assert wanted(trio) == IsrProposal((1, 3, 2), (-1, 0, 5), 0, 1)


def test_fetches_from_before_a_restart_are_refused(trio) -> None:
    trio.start()
    trio.fetch(2, broker_epoch=5)
    with pytest.raises(KafkaError) as refused:
        trio.fetch(2, broker_epoch=4)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_who_is_no_replica_may_know_more_than_the_leader(trio) -> None:
    trio.start()
    with pytest.raises(KafkaError) as refused:
        trio[1].leader.follower_fetched(9, 0, 0, trio.now)
    assert refused.value.code is ErrorCode.UNKNOWN_LEADER_EPOCH
    with pytest.raises(KafkaError) as refused:
        trio[1].leader.follower_fetched(2, 0, 1, trio.now)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_late_update_has_no_effect(trio) -> None:
    trio.start()
    old = trio.image
    trio.decide(leader=2, isr=(1, 2))
    trio.tell(1)
    trio[1].apply(old, trio.now)
    assert (trio[1].leader_id, trio[1].is_leader, trio[1].leader_epoch) == (2, False, 1)
