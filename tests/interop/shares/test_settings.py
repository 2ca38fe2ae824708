"""Where a share group begins, what it sees of transactions, and how much a poll brings."""

import time
from typing import Any

import pytest

from tests.interop.driver import Record
from tests.interop.shares.jobs import Jobs
from tests.interop.waiting import eventually

SOON_S = 0.5


def wait_until_assigned(jobs: Jobs) -> None:
    def is_assigned() -> bool:
        found = jobs.java.describe_share_group(jobs.group)
        return any(member.partitions == {(jobs.topic, 0)} for member in found.members)

    eventually(is_assigned)


def test_a_group_that_begins_at_the_latest(sharer: Any, jobs: Jobs) -> None:
    """Which is what a group does that nobody configured."""
    jobs.configure(share_auto_offset_reset="latest")
    jobs.fill(3)
    member = jobs.join(sharer, explicit=True)
    assert member.take(1) == []
    wait_until_assigned(jobs)
    assert member.take(SOON_S) == []
    jobs.fill(2)
    records = member.take_all(2)
    assert [record.offset for record in records] == [3, 4]
    member.finish(records)


@pytest.mark.sharers(name="java")
def test_a_group_that_begins_a_duration_ago(sharer: Any, jobs: Jobs) -> None:
    hour_ms = 3_600_000
    now = int(time.time() * 1000)
    times = [now - 3 * hour_ms, now - 2 * hour_ms, now - hour_ms // 2, now]
    jobs.reference.produce(jobs.topic, [Record(b"k", b"v", timestamp=time_ms) for time_ms in times])
    jobs.configure(share_auto_offset_reset="by_duration:PT1H")
    member = jobs.join(sharer, explicit=True)
    assert [record.offset for record in member.take_all(2)] == [2, 3]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("read_committed", [b"before", b"kept", b"after"]),
        ("read_uncommitted", [b"before", b"gone", b"kept", b"after"]),
    ],
)
def test_records_of_transactions(sharer: Any, jobs: Jobs, level: str, expected: list[bytes]) -> None:
    """Markers of transactions reach no member at either level, and hold nothing up."""
    jobs.configure(share_isolation_level=level)
    jobs.reference.produce(jobs.topic, [Record(None, b"before")])
    transactor = jobs.reference.open_transactor(f"tx-{jobs.group}")
    for value, end in (("gone", transactor.abort), ("kept", transactor.commit)):
        transactor.begin()
        transactor.send([(jobs.topic, 0, value)])
        end()
    transactor.close()
    jobs.reference.produce(jobs.topic, [Record(None, b"after")])
    member = jobs.join(sharer, explicit=True)
    got = []
    while len(got) < len(expected):
        records = member.take(10)
        assert records, f"only {got} came"
        got += [record.value for record in records]
        member.finish(records)
    assert got == expected
    assert member.take(SOON_S) == []
    jobs.wait_until_done()


@pytest.mark.sharers(can_be_exact=True)
def test_a_poll_brings_no_more_than_asked_for(sharer: Any, jobs: Jobs) -> None:
    """In the mode record_limit, though the records lie in one batch."""
    jobs.fill(10)
    member = jobs.join(sharer, explicit=True, exact=True, max_records=3)
    sizes = []
    while sum(sizes) < 10:
        records = member.take(10)
        assert [record.offset for record in records] == list(range(sum(sizes), sum(sizes) + len(records)))
        sizes.append(len(records))
        member.finish(records)
    assert sizes == [3, 3, 3, 1]


def test_no_more_records_are_locked_than_the_group_allows(sharer: Any, jobs: Jobs) -> None:
    """And others come when those are done."""
    limit, batch = 100, 20
    jobs.configure(share_partition_max_record_locks=limit)
    for _ in range(3 * limit // batch):
        jobs.fill(batch)
    one, two = (jobs.join(sharer, explicit=True) for _ in range(2))
    first = one.take()
    assert len(first) == limit
    assert two.take(SOON_S) == []
    one.finish(first)
    assert [record.offset for record in two.take()] == list(range(limit, 2 * limit))
