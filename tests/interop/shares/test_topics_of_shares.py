"""What happens to a topic while a share group reads it, and records of every shape."""

from collections.abc import Callable
from typing import Any

from tests.interop.driver import CODECS, Record
from tests.interop.samples import AWKWARD
from tests.interop.shares.jobs import Jobs
from tests.interop.shares.member import wait_until
from tests.interop.waiting import eventually


def test_records_of_every_shape(sharer: Any, jobs: Jobs) -> None:
    """By each codec, in batches of many records."""
    for codec in CODECS:
        jobs.reference.produce(jobs.topic, AWKWARD, codec=codec)
    expected = [record.content for _ in CODECS for record in AWKWARD]
    member = jobs.join(sharer, explicit=True)
    got = []
    while len(got) < len(expected):
        records = member.take(10)
        assert records, f"only {len(got)} of {len(expected)} came"
        got += [(record.key, record.value, record.headers) for record in records]
        member.finish(records)
    assert got == expected
    jobs.wait_until_done()


def test_partitions_that_are_added_are_read(sharer: Any, jobs: Jobs) -> None:
    member = jobs.join(sharer).work()
    jobs.fill(2)
    wait_until([member], lambda: len(member.taken) == 2, "the first partition is read")
    jobs.reference.add_partitions(jobs.topic, 3)
    eventually(lambda: len(jobs.reference.describe_topic(jobs.topic)) == 3)
    jobs.reference.produce(jobs.topic, [Record(None, b"new", partition=index) for index in (1, 2)])
    added = {(jobs.topic, 1, 0), (jobs.topic, 2, 0)}
    wait_until([member], lambda: added <= set(member.settled), "the new partitions are read")


def test_records_that_are_deleted_are_passed_over(sharer: Any, jobs: Jobs) -> None:
    jobs.fill(4)
    member = jobs.join(sharer, explicit=True)
    records = member.take_all(4)
    member.finish(records, "release")
    jobs.reference.delete_records(jobs.topic, before=3)
    again = member.take_all(1)
    assert [record.offset for record in again] == [3]
    member.finish(again)
    jobs.wait_until_done()


def test_a_topic_that_is_created_again_begins_anew(
    sharer: Any, jobs: Jobs, make_topic: Callable[..., str]
) -> None:
    """The group goes on with another topic meanwhile."""
    other = make_topic()
    member = sharer.join_share(jobs.group, jobs.topic, other).work()
    jobs.members.append(member)
    jobs.fill(3)
    wait_until([member], lambda: len(member.settled) == 3, "all is read")
    jobs.reference.delete_topic(jobs.topic)
    eventually(lambda: jobs.topic not in jobs.reference.list_topics())
    jobs.reference.produce(other, [Record(None, b"other")])
    # Taken, not settled: Apache Kafka fails this acknowledgement with an unknown error.
    wait_until([member], lambda: (other, 0, 0) in member.taken, "the other topic is read on")
    member.close()
    jobs.reference.create_topic(jobs.topic)
    eventually(lambda: jobs.topic in jobs.reference.list_topics())
    jobs.reference.produce(jobs.topic, [Record(None, b"new")])
    again = jobs.join(sharer, explicit=True)
    [record] = again.take_all(1)
    assert (record.offset, record.value, record.deliveries) == (0, b"new", 1)
    again.finish([record])
