"""A lock is a run of offsets, and so must give way where a record in it, or at its edge, is another's now."""

import pytest

from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.partition.limits import Limits
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.states import AckType, ShareState

LIMITS = Limits(lock_seconds=30.0)
RELEASE = [AckType.RELEASE]


def held_by_anna() -> SharePartition:
    share = SharePartition(ShareState(0, 0), LIMITS)
    share.acquire("anna", 0, 5, records_max=100, now=0.0)
    return share


def holders(share: SharePartition) -> dict[str, int]:
    """How many records each member holds."""
    counts: dict[str, int] = {}
    for lock in share.locks:
        counts[lock.member_id] = counts.get(lock.member_id, 0) + lock.records
    return counts


@pytest.mark.parametrize("offset", [0, 3, 5])
def test_a_released_record_of_a_run_belongs_to_the_member_that_gets_it_next(offset: int) -> None:
    share = held_by_anna()
    assert share.acknowledge("anna", [AckBatch(offset, offset, RELEASE)], 1.0, 0) is None
    [given] = share.acquire("bert", offset, offset, records_max=1, now=2.0)
    assert (given.first, given.last, given.delivery_count) == (offset, offset, 2)
    assert holders(share) == {"anna": 5, "bert": 1}
    refusal = share.acknowledge("anna", [AckBatch(offset, offset, [AckType.ACCEPT])], 3.0, 0)
    assert refusal is not None
    share.release("anna", 4.0, 0)
    assert holders(share) == {"bert": 1}
    assert share.acknowledge("bert", [AckBatch(offset, offset, [AckType.ACCEPT])], 5.0, 0) is None


@pytest.mark.parametrize("offset", [0, 3, 5])
def test_the_lock_of_a_record_that_was_given_on_ends_by_itself(offset: int) -> None:
    share = held_by_anna()
    share.acknowledge("anna", [AckBatch(offset, offset, RELEASE)], 1.0, 0)
    share.acquire("bert", offset, offset, records_max=1, now=20.0)
    share.expire(31.0, 0)
    assert holders(share) == {"bert": 1}
    share.expire(51.0, 0)
    assert holders(share) == {}
    assert share.available == 6


def test_a_renewed_record_outlasts_the_rest_of_its_run() -> None:
    share = held_by_anna()
    assert share.acknowledge("anna", [AckBatch(2, 3, [AckType.RENEW])], 20.0, 0) is None
    share.expire(31.0, 0)
    assert holders(share) == {"anna": 2}
    assert share.next_deadline == 50.0
