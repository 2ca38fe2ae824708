"""Members of a share group take records of one partition in turn: each record goes to one of them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.shares.conftest import OpenJobs
from tests.interop.shares.jobs import Jobs
from tests.interop.shares.member import wait_until, wait_until_settled
from tests.interop.waiting import eventually


def check_sharing(jobs: Jobs) -> None:
    """Write until every member has had some, and see that each record was taken once and settled."""

    def all_have_some() -> bool:
        jobs.fill(40)
        return all(member.taken for member in jobs.members)

    wait_until(jobs.members, all_have_some, "every member takes records")
    wait_until_settled(jobs.members, jobs.written)
    jobs.close()
    taken = Counter(where for member in jobs.members for where in member.taken)
    assert taken == Counter(jobs.written)
    assert {count for member in jobs.members for count in member.deliveries} == {1}


@pytest.mark.parametrize("explicit", [False, True])
def test_two_members_share_a_partition(sharer: Any, jobs: Jobs, explicit: bool) -> None:
    for _ in range(2):
        jobs.join(sharer, explicit=explicit, max_records=10).work()
    eventually(lambda: len(jobs.java.describe_share_group(jobs.group).members) == 2)
    check_sharing(jobs)
    eventually(lambda: not jobs.java.describe_share_group(jobs.group).members)
    jobs.wait_until_done()


def test_more_members_than_partitions(sharer: Any, open_jobs: OpenJobs) -> None:
    jobs = open_jobs(partitions=3)
    for _ in range(5):
        jobs.join(sharer, max_records=5).work()
    check_sharing(jobs)


def test_clients_of_all_kinds_in_one_group(
    open_sharer: Callable[[str], Any], open_jobs: OpenJobs, reference: Any
) -> None:
    """While a plain consumer group reads every record of the same topic."""
    jobs = open_jobs(partitions=2)
    plain = reference.join_group(f"plain-{jobs.group}", jobs.topic)
    for name in ("java", "java-newest", "confluent", "franz-go"):
        jobs.join(open_sharer(name), max_records=5).work()
    check_sharing(jobs)
    expected = {(index, offset) for _, index, offset in jobs.written}
    eventually(lambda: set(plain.look().records) == expected)
    plain.close()
