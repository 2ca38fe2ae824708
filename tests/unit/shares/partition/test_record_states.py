"""What a leader tells of single records: in pieces, and the same as what the window does with them."""

from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.partition.chunk import CHUNK_RECORDS
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.record_states import RUNS_MAX, TO_THE_END
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.states import AckType, DeliveryState, ShareState, StateBatch

AVAILABLE, ACQUIRED = DeliveryState.AVAILABLE, DeliveryState.ACQUIRED
DONE, ARCHIVED = DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED
NOW_MS = 1_000_000


def take(share: SharePartition, records: int) -> int:
    """From the first available record on; the first offset."""
    first = share.next_offset()
    assert first is not None
    share.acquire("anna", first, first + records - 1, records_max=records, now=0.0)
    return first


def acknowledge(share: SharePartition, kind: AckType, *offsets: int, delay_ms: int = -1) -> None:
    batches = [AckBatch(offset, offset, [kind], delay_ms) for offset in offsets]
    assert share.acknowledge("anna", batches, 0.0, NOW_MS) is None


def test_each_state() -> None:
    share = SharePartition(ShareState(0, 10), Limits(has_dead_letters=True))
    take(share, 8)
    acknowledge(share, AckType.ACCEPT, 11, 12)
    acknowledge(share, AckType.RELEASE, 13)
    acknowledge(share, AckType.RELEASE, 14, delay_ms=5_000)
    acknowledge(share, AckType.REJECT, 15)
    acknowledge(share, AckType.GAP, 16)
    share.schedule(18, 19)
    told = [
        StateBatch(10, 10, ACQUIRED, 1),
        StateBatch(11, 12, DONE, 1),
        StateBatch(13, 13, AVAILABLE, 1),
        StateBatch(14, 14, AVAILABLE, 1, NOW_MS + 5_000),
        StateBatch(15, 15, DeliveryState.ARCHIVING, 1),
        StateBatch(16, 16, ARCHIVED, 1),
        StateBatch(17, 17, ACQUIRED, 1),
    ]
    assert share.record_states(0) == (told, TO_THE_END)
    assert share.record_states(12)[0] == [StateBatch(12, 12, DONE, 1), *told[2:]]
    assert share.record_states(100) == ([], TO_THE_END)
    share.wake(NOW_MS + 5_000)
    assert share.record_states(14)[0][0] == StateBatch(14, 14, AVAILABLE, 1)


def test_many_runs_are_told_in_pieces() -> None:
    """Every second record is given back with a delay, or is done; a whole chunk was never delivered."""
    records = 4 * CHUNK_RECORDS
    share = SharePartition(ShareState(0, 0), Limits(record_locks_max=records, delayed_max=records))
    take(share, records)
    acknowledge(share, AckType.ACCEPT, *range(1, records, 4))
    acknowledge(share, AckType.RELEASE, *range(3, records, 4), delay_ms=9)
    share.release({"anna"}, 0.0, NOW_MS)
    whole: list[StateBatch] = []
    pieces = at = 0
    while at != TO_THE_END:
        told, to = share.record_states(at)
        assert all(batch.first_offset >= at for batch in told)
        assert to == TO_THE_END or at < to <= at + CHUNK_RECORDS * (1 + RUNS_MAX // (CHUNK_RECORDS // 4))
        whole, at, pieces = whole + told, to, pieces + 1
    assert pieces > 1
    assert whole == [
        batch
        for first in range(0, records, 4)
        for batch in (
            StateBatch(first, first, AVAILABLE, 1),
            StateBatch(first + 1, first + 1, DONE, 1),
            StateBatch(first + 2, first + 2, AVAILABLE, 1),
            StateBatch(first + 3, first + 3, AVAILABLE, 1, NOW_MS + 9),
        )
    ]
