"""The protocol of a queue: sessions and their epochs, prefetch, acknowledgements, and how jobs are lost."""

import pytest

from tests.unit.clients.queue.queue_rig import QueueRig, batches
from tidelog.base.errors import ErrorCode
from tidelog.clients.queue.core import LATE_S, WAIT_MS, WAIT_WHILE_HOLDING_MS, NextRequest
from tidelog.clients.queue.engine import LOOK_S
from tidelog.clients.queue.held import JobState
from tidelog.clients.queue.stock import IDLE_S
from tidelog.shares.states import AckType
from tidelog.wire.messages.share_fetch import ShareFetchRequest

ACCEPT, RELEASE, REJECT = AckType.ACCEPT, AckType.RELEASE, AckType.REJECT


def test_a_session_begins_with_its_partitions_and_then_names_only_changes() -> None:
    rig = QueueRig(leaders={0: 1, 3: 1, 4: 2})
    first = rig.fetch()
    assert first.share_session_epoch == 0
    assert [part.partition_index for part in first.topics[0].partitions] == [0, 3]
    rig.empty()
    second = rig.fetch()
    assert (second.share_session_epoch, second.topics) == (1, [])
    rig.empty()
    rig.core.lead(b"t" * 16, {0: 1, 3: 2, 4: 2})
    third = rig.fetch()
    assert third.share_session_epoch == 2
    assert [topic.partitions for topic in third.forgotten_topics_data] == [[3]]


def test_prefetch_bounds_what_is_held_and_what_may_come() -> None:
    rig = QueueRig(prefetch=3)
    assert rig.fetch().max_records == 3
    assert rig.core.stock.free == 0  # reserved for the answer
    rig.deliver([0, 1, 2])
    assert not isinstance(rig.step(), NextRequest)
    job = rig.take()
    assert not isinstance(rig.step(), NextRequest)
    rig.core.stock.acknowledge(job, ACCEPT, rig.now)
    rig.now += 1
    assert batches(rig.acknowledge()) == [(0, 0, [1], -1)]  # one place free is not worth a fetch
    rig.answer_acks()
    rig.core.stock.acknowledge(rig.take(), ACCEPT, rig.now)
    again = rig.fetch()
    assert again.max_records == 2
    assert batches(again) == [(1, 1, [1], -1)]


def test_a_fetch_waits_shorter_while_jobs_of_its_broker_are_held() -> None:
    rig = QueueRig()
    step = rig.step()
    assert isinstance(step, NextRequest)
    assert step.wait_ms == WAIT_MS
    rig.deliver([0])
    job = rig.take()
    step = rig.step()
    assert isinstance(step, NextRequest)
    assert step.wait_ms == WAIT_WHILE_HOLDING_MS
    rig.empty()
    rig.core.stock.acknowledge(job, ACCEPT, rig.now)
    step = rig.step()
    assert isinstance(step, NextRequest)
    assert step.wait_ms == WAIT_WHILE_HOLDING_MS  # flush waits for the answer
    rig.empty()
    step = rig.step()
    assert isinstance(step, NextRequest)
    assert step.wait_ms == WAIT_MS


def test_brokers_are_asked_by_turns_where_prefetch_is_smaller_than_their_number() -> None:
    rig = QueueRig(prefetch=1, leaders={0: 1, 1: 2})
    assert rig.fetch(1).max_records == 1
    assert not isinstance(rig.step(2), NextRequest)
    rig.now += 0.1
    rig.empty(1)
    assert not isinstance(rig.step(1), NextRequest)
    assert rig.fetch(2).max_records == 1


def test_a_look_at_the_brokers_has_the_time_for_all_of_them() -> None:
    """One that is left out each time would have jobs that such a caller never gets."""
    rig = QueueRig(leaders={each: each for each in range(10)})
    rig.core.stock.takers = 1
    began = rig.now
    for node in range(10):
        step = rig.step(node)
        assert isinstance(step, NextRequest)
        rig.now += step.wait_ms / 1000 + 0.03  # the way to a broker that is not next door
        rig.empty(node)
    assert rig.now - began < LOOK_S


def test_a_broker_that_hangs_does_not_keep_a_caller_from_the_jobs_of_others() -> None:
    rig = QueueRig(prefetch=10, leaders={0: 1, 1: 2, 2: 3})
    rig.core.stock.takers = 1
    assert rig.fetch(1).max_records == 1
    rig.now += WAIT_MS / 1000 / 3
    assert not isinstance(rig.step(2), NextRequest)
    rig.now += LATE_S
    assert rig.fetch(2).max_records == 1
    assert not isinstance(rig.step(3), NextRequest)
    rig.empty(2)
    assert rig.fetch(3).max_records == 1
    rig.deliver([0], node=3, partition=2)
    rig.deliver([0], node=1)
    assert len(rig.core.stock.buffer) == 2


def test_prefetch_bounds_what_a_broker_that_hangs_may_still_bring() -> None:
    rig = QueueRig(prefetch=1, leaders={0: 1, 1: 2})
    rig.fetch(1)
    rig.now += WAIT_MS / 1000 + LATE_S
    assert not isinstance(rig.step(2), NextRequest)


def test_acknowledgements_are_sent_as_runs_with_delays_apart() -> None:
    rig = QueueRig(prefetch=10)
    jobs = rig.begun(range(10))
    for number, job in enumerate(jobs):
        type = RELEASE if number in (4, 5) else REJECT if number == 9 else ACCEPT
        rig.core.stock.acknowledge(job, type, rig.now, 500 if number in (4, 5) else -1)
    assert batches(rig.fetch()) == [
        (0, 3, [1], -1),
        (4, 5, [2], 500),
        (6, 9, [1, 1, 1, 3], -1),
    ]
    rig.empty()
    assert {job.state for job in jobs} == {JobState.CONFIRMED}
    assert not rig.core.stock.unanswered


def test_an_acknowledgement_waits_a_moment_for_others_unless_it_is_urgent() -> None:
    rig = QueueRig(prefetch=4)
    jobs = rig.begun(range(4))
    rig.core.stock.buffer.append(jobs[3])  # something is left to take, so no fetch is due
    rig.core.stock.acknowledge(jobs[0], ACCEPT, rig.now)
    assert rig.step() == pytest.approx(rig.now + 0.005)
    rig.core.sessions[1].acks.is_urgent = True
    assert batches(rig.acknowledge()) == [(0, 0, [1], -1)]


def test_offsets_without_a_record_are_acknowledged_as_gaps() -> None:
    rig = QueueRig()
    rig.fetch()
    rig.deliver([0, 1, 2], missing=[1])
    assert [rig.take().record.offset for _ in range(2)] == [0, 2]
    assert batches(rig.fetch()) == [(1, 1, [0], -1)]


def test_one_late_acknowledgement_does_not_take_the_others_with_it() -> None:
    rig = QueueRig(prefetch=4)
    jobs = rig.begun(range(4))
    for job in jobs:
        rig.core.stock.acknowledge(job, ACCEPT, rig.now)
    rig.fetch()
    rig.deliver([], ack_error=ErrorCode.INVALID_RECORD_STATE)
    rig.core.stock.takers = 0
    rig.now += IDLE_S + 1
    sent = []
    while rig.core.stock.unanswered:
        request = rig.acknowledge()
        sent.append(batches(request))
        is_late = any(first <= 2 <= last for first, last, _, _ in sent[-1])
        rig.answer_acks(ErrorCode.INVALID_RECORD_STATE if is_late else ErrorCode.NONE)
    assert [job.state for job in jobs] == [
        JobState.CONFIRMED,
        JobState.CONFIRMED,
        JobState.LOST,
        JobState.CONFIRMED,
    ]
    assert list(rig.core.stock.refused) == [jobs[2]]


def test_a_passing_error_is_tried_again_until_the_lock_ends() -> None:
    rig = QueueRig(prefetch=1)
    (job,) = rig.begun([7])
    rig.core.stock.acknowledge(job, ACCEPT, rig.now)
    rig.fetch()
    rig.deliver([], ack_error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert job.state is JobState.ACKNOWLEDGED
    rig.now += 0.2
    assert batches(rig.fetch()) == [(7, 7, [1], -1)]
    rig.now += 31
    rig.deliver([], ack_error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert job.state is JobState.LOST


@pytest.mark.parametrize("error", [ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH])
def test_a_session_that_the_broker_forgot_takes_its_jobs_with_it(error: ErrorCode) -> None:
    rig = QueueRig()
    held, acknowledged = rig.begun([0, 1])
    rig.core.stock.acknowledge(acknowledged, ACCEPT, rig.now)
    rig.fetch()
    rig.empty(error=error)
    assert held.state is acknowledged.state is JobState.LOST
    assert not rig.core.stock.acknowledge(held, ACCEPT, rig.now)
    rig.now += 1
    assert rig.fetch().share_session_epoch == 0


def test_a_broken_connection_loses_jobs_and_asks_for_the_leaders() -> None:
    rig = QueueRig()
    (job,) = rig.begun([0])
    rig.core.disconnected(1, "reset", rig.now)
    assert job.state is JobState.LOST
    assert "reset" in job.loss
    assert rig.core.answers.wants_metadata
    assert rig.step() == pytest.approx(rig.now + 0.1)
    rig.now += 0.1
    assert rig.fetch().share_session_epoch == 0
    rig.core.disconnected(1, "reset", rig.now)
    assert rig.step() == pytest.approx(rig.now + 0.2)  # the pauses grow


def test_a_partition_that_moved_is_fetched_from_its_new_leader() -> None:
    rig = QueueRig()
    (job,) = rig.begun([0])
    rig.fetch()
    rig.deliver([], error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert job.state is JobState.LOST
    assert rig.core.answers.wants_metadata
    rig.core.lead(b"t" * 16, {0: 2})
    assert [part.partition_index for part in rig.fetch(2).topics[0].partitions] == [0]
    last = rig.acknowledge(1)  # nothing is left to do at the old leader
    assert last.share_session_epoch == -1


def test_a_new_topic_of_the_same_name_begins_anew() -> None:
    rig = QueueRig()
    (job,) = rig.begun([0])
    rig.core.lead(b"u" * 16, {0: 1})
    rig.core.membership.assignment = frozenset()
    rig.core.distribute()
    rig.core.sessions[1].wanted = frozenset({0})
    request = rig.fetch()
    assert (request.share_session_epoch, request.topics[0].topic_id) == (0, b"u" * 16)
    assert job.state is JobState.LOST


def test_locks_are_extended_for_buffered_jobs_and_for_taken_ones_within_their_time() -> None:
    rig = QueueRig(prefetch=2, extend_s=20.0)
    rig.fetch()
    rig.deliver([0, 1])
    taken = rig.take()
    rig.now += 16
    assert batches(rig.acknowledge()) == [(0, 1, [4], -1)]
    rig.answer_acks()
    assert taken.deadline == rig.now + 30
    rig.now += 16
    request = rig.acknowledge()
    assert request.is_renew_ack
    assert batches(request) == [(1, 1, [4], -1)]
    rig.answer_acks()
    rig.now += 15
    rig.acknowledge()
    rig.answer_acks()
    assert taken.state is JobState.LOST
    assert not rig.core.stock.acknowledge(taken, ACCEPT, rig.now)


def test_a_broker_without_renewals_gets_none() -> None:
    rig = QueueRig(prefetch=1)
    rig.begun([0])
    rig.core.sessions[1].can_renew = False
    rig.now += 20
    assert not isinstance(rig.step(), NextRequest)


def test_a_refused_extension_leaves_the_job_its_lock() -> None:
    rig = QueueRig(prefetch=1)
    (job,) = rig.begun([0])
    assert rig.core.stock.extend(job, rig.now)
    deadline = job.deadline
    assert rig.acknowledge().is_renew_ack
    rig.answer_acks(ErrorCode.INVALID_RECORD_STATE)
    assert (job.state, job.deadline) == (JobState.HELD, deadline)


def test_an_application_that_takes_nothing_gives_its_buffer_back() -> None:
    rig = QueueRig(prefetch=4)
    rig.fetch()
    rig.deliver(range(4))
    rig.core.stock.acknowledge(rig.take(), ACCEPT, rig.now)
    rig.core.stock.takers = 0
    rig.now += IDLE_S
    assert batches(rig.acknowledge()) == [(0, 3, [1, 2, 2, 2], -1)]
    rig.answer_acks()
    assert not isinstance(rig.step(), NextRequest)
    rig.core.stock.begin_taking(rig.now)
    assert rig.fetch().max_records == 1


def test_an_application_that_takes_a_job_now_and_then_has_none_fetched_ahead() -> None:
    """Given back again and again, they would reach the limit of deliveries with nobody having seen them."""
    rig = QueueRig(prefetch=10)
    rig.core.stock.takers = 0
    for offset in range(5):
        assert rig.core.stock.begin_taking(rig.now)
        assert rig.fetch().max_records == 1
        rig.deliver([offset])
        job = rig.take()
        rig.core.stock.end_taking(rig.now)
        assert not isinstance(rig.step(), NextRequest)
        rig.core.stock.acknowledge(job, ACCEPT, rig.now)
        rig.now += 1
        assert batches(rig.acknowledge()) == [(offset, offset, [1], -1)]
        rig.answer_acks()
        rig.now += IDLE_S
        assert not isinstance(rig.step(), NextRequest)


def test_as_many_jobs_are_fetched_ahead_as_were_taken_in_a_row() -> None:
    rig = QueueRig(prefetch=10)
    rig.core.stock.takers = 1
    asked, offset = [], 0
    for _ in range(30):
        if isinstance(step := rig.step(), NextRequest):
            assert isinstance(step.message, ShareFetchRequest)
            asked.append(step.message.max_records)
            rig.deliver(range(offset, offset + asked[-1]))
            offset += asked[-1]
        rig.core.stock.acknowledge(rig.take(), ACCEPT, rig.now)
    assert asked[:4] == [1, 1, 1, 2]
    assert asked[-1] >= 5


def test_calls_in_vain_now_and_then_have_no_job_fetched_that_others_could_have_taken() -> None:
    """From the buffer of one such worker to that of the next, it would reach the limit of deliveries."""
    rig = QueueRig()
    stock = rig.core.stock
    stock.takers = 0
    for _ in range(3):
        assert stock.begin_taking(rig.now)
        assert stock.hand_out(rig.now) is None
        assert rig.fetch().max_records == 1
        rig.empty()
        stock.end_taking(rig.now)
        assert not isinstance(rig.step(), NextRequest)
        rig.now += IDLE_S


def test_calls_in_vain_one_after_the_other_have_a_job_fetched_for_the_next() -> None:
    rig = QueueRig()
    stock = rig.core.stock
    stock.takers = 0
    for is_first in (True, False):
        assert stock.begin_taking(rig.now) is is_first
        assert stock.hand_out(rig.now) is None
        stock.end_taking(rig.now)
        rig.now += IDLE_S / 2
    assert rig.fetch().max_records == 1
    rig.deliver([0])
    assert not stock.begin_taking(rig.now)
    assert rig.take().record.offset == 0


def test_closing_acknowledges_and_releases_the_rest() -> None:
    rig = QueueRig(prefetch=4)
    done, open_, *_ = rig.begun(range(4))
    rig.core.stock.acknowledge(done, ACCEPT, rig.now)
    rig.core.is_closing = True
    request = rig.acknowledge()
    assert request.share_session_epoch == -1
    assert batches(request) == [(0, 0, [1], -1)]
    rig.answer_acks()
    assert (done.state, open_.state) == (JobState.CONFIRMED, JobState.LOST)
    assert rig.step() is None
    assert not rig.core.sessions


def test_what_a_fetch_brings_after_the_end_is_not_kept() -> None:
    rig = QueueRig()
    rig.fetch()
    rig.core.is_closing = True
    rig.deliver([0, 1])
    assert not rig.core.stock.buffer
    assert rig.acknowledge().share_session_epoch == -1


def test_a_refusal_that_stays_ends_the_queue() -> None:
    rig = QueueRig()
    rig.fetch()
    rig.empty(error=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert rig.core.failure is not None
    assert rig.core.failure.code is ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_a_job_that_comes_again_to_the_same_member_replaces_the_old_one() -> None:
    rig = QueueRig()
    (old,) = rig.begun([0])
    rig.fetch()
    rig.deliver([0], count=2)
    again = rig.take()
    assert (old.state, again.state, again.delivery_count) == (JobState.LOST, JobState.HELD, 2)
    assert rig.core.sessions[1].held == {(0, 0): again}
