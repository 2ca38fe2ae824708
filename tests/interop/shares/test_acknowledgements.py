"""What becomes of a record that a member accepts, releases, rejects, renews, or never answers for."""

import time
from typing import Any

import pytest

from tests.interop.shares.jobs import Jobs

LOCK_MS = 1_000
"""The shortest that there is."""
SOON_S = 0.5


def test_accepted_records_do_not_come_again(sharer: Any, jobs: Jobs) -> None:
    jobs.fill(3)
    member = jobs.join(sharer, explicit=True)
    records = member.take_all(3)
    assert [(record.offset, record.deliveries, record.value) for record in records] == [
        (0, 1, b"0"),
        (1, 1, b"1"),
        (2, 1, b"2"),
    ]
    member.finish(records)
    assert member.take(SOON_S) == []
    jobs.wait_until_done()


def test_a_poll_accepts_what_the_poll_before_it_took(sharer: Any, jobs: Jobs) -> None:
    """Unless the client is told to acknowledge explicitly."""
    jobs.configure(share_record_lock_duration_ms=LOCK_MS)
    jobs.fill(2)
    member = jobs.join(sharer)
    assert len(member.take_all(2)) == 2
    assert member.take(2 * LOCK_MS / 1000) == []
    jobs.wait_until_done()


def test_a_released_record_comes_again_and_a_rejected_one_does_not(sharer: Any, jobs: Jobs) -> None:
    jobs.fill(4)
    member = jobs.join(sharer, explicit=True)
    first = member.take_all(4)
    member.settle(first[:1])
    member.settle(first[1:3], "release")
    member.settle(first[3:], "reject")
    assert member.flush() == {(jobs.topic, 0): 0}
    again = member.take_all(2)
    assert [(record.offset, record.deliveries) for record in again] == [(1, 2), (2, 2)]
    member.finish(again)
    assert member.take(SOON_S) == []
    jobs.wait_until_done()


def test_records_between_accepted_ones_come_again(sharer: Any, jobs: Jobs) -> None:
    """Every second record of a batch is released: the state has gaps, and the start does not pass them."""
    jobs.fill(20)
    member = jobs.join(sharer, explicit=True)
    first = member.take_all(20)
    member.settle(first[1::2])
    member.settle(first[::2], "release")
    assert member.flush() == {(jobs.topic, 0): 0}
    assert jobs.java.share_offsets(jobs.group)[jobs.topic, 0] == (0, 10)
    again = member.take_all(10)
    assert [(record.offset, record.deliveries) for record in again] == [(n, 2) for n in range(0, 20, 2)]
    member.finish(again)
    jobs.wait_until_done()


def test_a_lock_that_runs_out_gives_the_record_to_another(sharer: Any, jobs: Jobs) -> None:
    jobs.configure(share_record_lock_duration_ms=LOCK_MS)
    jobs.fill(2)
    slow, quick = (jobs.join(sharer, explicit=True) for _ in range(2))
    held = slow.take_all(2)
    again = quick.take(10)
    assert [(record.offset, record.deliveries) for record in again] == [(0, 2), (1, 2)]
    slow.settle(held)
    assert set(slow.flush().values()) == {121}  # INVALID_RECORD_STATE: the locks are another's now
    quick.finish(again)
    assert quick.take(SOON_S) == []


@pytest.mark.sharers(can_renew=True)
def test_a_renewed_lock_holds_on(sharer: Any, jobs: Jobs) -> None:
    lock_ms = 2.5 * LOCK_MS  # to renew it takes a busy machine half a second
    jobs.configure(share_record_lock_duration_ms=int(lock_ms))
    jobs.fill(1)
    slow, quick = (jobs.join(sharer, explicit=True) for _ in range(2))
    held = slow.take_all(1)
    for _ in range(3):
        time.sleep(0.4 * lock_ms / 1000)
        slow.finish(held, "renew")
        if sharer.polls_what_it_renewed:
            assert slow.take_all(1) == held
    assert quick.take(0.3) == []
    slow.finish(held)
    assert quick.take(1.1 * lock_ms / 1000) == []
    jobs.wait_until_done()


def test_a_closed_member_gives_its_records_back_at_once(sharer: Any, jobs: Jobs) -> None:
    """Though its locks would hold for half a minute."""
    jobs.fill(3)
    leaving, staying = (jobs.join(sharer, explicit=True) for _ in range(2))
    held = leaving.take_all(3)
    leaving.finish(held[:1])
    leaving.close()
    again = staying.take(10)
    assert [record.offset for record in again] == [1, 2]
    assert {record.deliveries for record in again} <= {1, 2}
    staying.finish(again)


def test_the_records_of_a_killed_member_come_again(sharer: Any, jobs: Jobs) -> None:
    """The broker sees the connection end, whatever the locks' time."""
    jobs.fill(3)
    doomed = jobs.join(sharer, explicit=True, own_process=True)
    held = doomed.take_all(3)
    doomed.finish(held[:1])
    doomed.kill()
    heir = jobs.join(sharer, explicit=True)
    again = heir.take_all(2)
    assert [(record.offset, record.deliveries) for record in again] == [(1, 2), (2, 2)]
    heir.finish(again)


def test_a_record_is_archived_after_the_last_delivery(sharer: Any, jobs: Jobs) -> None:
    jobs.configure(share_delivery_count_limit=2)
    jobs.fill(2)
    member = jobs.join(sharer, explicit=True)
    for delivery in (1, 2):
        records = member.take_all(2)
        assert [(record.offset, record.deliveries) for record in records] == [(0, delivery), (1, delivery)]
        member.finish(records, "release")
    assert member.take(SOON_S) == []
    jobs.wait_until_done()
    jobs.fill(1)
    assert [record.offset for record in member.take_all(1)] == [2]
