"""What a share partition keeps, and does in one turn, stays small, however many records a member holds."""

from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.partition.chunk import CHUNK_RECORDS
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.states import AckType, ShareState

NOW_MS = 1_000_000


def test_delays_of_records_that_retention_took_are_not_kept() -> None:
    """(They stayed until they were due, up to ten years.)"""
    share = SharePartition(ShareState(0, 0), Limits())
    share.acquire("anna", 0, 19, records_max=20, now=0.0)
    released = [AckBatch(offset, offset, [AckType.RELEASE], 5_000) for offset in range(20)]
    assert share.acknowledge("anna", released, 0.0, NOW_MS) is None
    share.move_start(15)
    assert (share.delayed, share.next_due_ms) == (5, NOW_MS + 5_000)
    assert [batch.first_offset for batch in share.record_states(0)[0]] == [15, 16, 17, 18, 19]
    share.move_start(20)
    assert share.next_due_ms is None


def test_many_locks_that_end_together_are_released_by_chunk() -> None:
    """(Each by itself, 100,000 stopped the event loop for a second, and the save for another half.)"""
    share = SharePartition(ShareState(0, 0), Limits(backoff_ms=1_000, record_locks_max=9_000))
    for offset in range(2 * CHUNK_RECORDS):
        share.acquire("anna", offset, offset, records_max=1, now=0.0)
    share.release({"anna"}, 0.0, NOW_MS)
    assert share.delayed == 2 * CHUNK_RECORDS
    unsaved = share.take_unsaved()
    assert unsaved is not None
    assert len(unsaved.delays) == 2


def test_nothing_is_delivered_while_too_many_records_wait_for_a_retry() -> None:
    """(The rest of the window was, so that four times the limit waited.)"""
    share = SharePartition(ShareState(0, 0), Limits(backoff_ms=60_000, delayed_max=100))
    share.schedule(0, 499)
    share.due(0, 499)  # in the window, and never delivered
    while (offset := share.next_offset()) is not None:
        [taken] = share.acquire("anna", offset, 499, records_max=10, now=0.0)
        released = AckBatch(taken.first, taken.last, [AckType.RELEASE])
        assert share.acknowledge("anna", [released], 0.0, NOW_MS) is None
    assert share.delayed == 100
    assert not share.acquire("anna", 100, 499, records_max=10, now=0.0)
    share.wake(NOW_MS + 60_000)
    assert (share.delayed, share.next_offset()) == (0, 0)
