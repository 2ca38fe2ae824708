"""What Apache Kafka 4.3 does not have yet, for clients as they are: dead letters (KIP-1191) and delays."""

import os
import time
from typing import Any

import pytest

from tests.interop.driver import EARLIEST, Code, ConfigChange, Record, Refused
from tests.interop.shares.jobs import Jobs

pytestmark = pytest.mark.skipif(
    "TIDELOG_INTEROP_BOOTSTRAP" in os.environ, reason="the broker may be Apache Kafka"
)
TOPIC_NAME = "errors.deadletterqueue.topic.name"


@pytest.fixture
def letters(jobs: Jobs, reference: Any) -> str:
    """The dead-letter topic of the group."""
    name = f"dlq.{jobs.topic}"
    reference.create_topic(name, 1, configs={"errors.deadletterqueue.group.enable": "true"})
    jobs.java.alter_configs(
        "group",
        jobs.group,
        [
            ConfigChange("set", TOPIC_NAME, name),
            ConfigChange("set", "errors.deadletterqueue.copy.record.enable", "true"),
        ],
    )
    return name


def test_dead_letters(sharer: Any, jobs: Jobs, letters: str) -> None:
    """A rejected record, and one that came as often as the group allows."""
    jobs.configure(share_delivery_count_limit=2)
    jobs.reference.produce(
        jobs.topic, [Record(b"key", b"bad", (("h", b"1"),)), Record(None, b"worse"), Record(None, b"good")]
    )
    member = jobs.join(sharer, explicit=True)
    bad, worse, good = member.take_all(3)
    member.settle([bad], "reject")
    member.settle([worse], "release")
    member.settle([good])
    assert member.flush() == {(jobs.topic, 0): 0}
    [worse] = member.take_all(1)
    assert (worse.value, worse.deliveries) == (b"worse", 2)
    member.finish([worse], "release")
    first, second = jobs.reference.consume(letters, EARLIEST, 2)
    assert (first.key, first.value) == (b"key", b"bad")
    assert dict(first.headers) == {
        "h": b"1",
        "__dlq.errors.topic": jobs.topic.encode(),
        "__dlq.errors.partition": b"0",
        "__dlq.errors.offset": b"0",
        "__dlq.errors.group": jobs.group.encode(),
        "__dlq.errors.delivery.count": b"1",
        "__dlq.errors.message": b"Offset rejected by client.",
    }
    assert second.value == b"worse"
    told = dict(second.headers)
    assert told["__dlq.errors.delivery.count"] == b"2"
    assert told["__dlq.errors.message"] == b"Offset delivery count exceeded the threshold."
    jobs.wait_until_done()
    assert member.take(0.5) == []
    assert jobs.reference.find_offset(letters, -1) == 2


def test_a_topic_that_cannot_be_for_dead_letters(jobs: Jobs, letters: str, topic: str) -> None:
    """Its name lacks the prefix, or it is the topic of its own dead letters."""
    for name in (topic, "__share_group_state"):
        with pytest.raises(Refused) as refused:
            jobs.java.alter_configs("group", jobs.group, [ConfigChange("set", TOPIC_NAME, name)])
        assert refused.value.code == Code.INVALID_CONFIG


def test_a_delayed_record_comes_later_to_a_share_group_alone(sharer: Any, jobs: Jobs) -> None:
    """The header is the producer's; consumers need to know nothing of it, and plain ones see it at once."""
    delay_ms = 1_500
    jobs.fill(1)
    member = jobs.join(sharer, explicit=True)
    member.finish(member.take_all(1))  # a JVM may need longer than the delay to begin
    began = time.monotonic()
    jobs.reference.produce(
        jobs.topic, [Record(None, b"later", (("tidelog-delay", b"%d" % delay_ms),)), Record(None, b"now")]
    )
    [now] = member.take_all(1)
    assert now.value == b"now"
    member.finish([now])
    records = jobs.reference.consume(jobs.topic, EARLIEST, 3)
    assert [record.value for record in records[1:]] == [b"later", b"now"]
    [later] = member.take_all(1)
    assert time.monotonic() - began >= delay_ms / 1000
    assert (later.value, later.offset, later.deliveries) == (b"later", 1, 1)
    member.finish([later])
    jobs.wait_until_done()
