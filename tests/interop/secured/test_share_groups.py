"""Members of share groups over TLS and SASL, and users whose permissions end before a topic or a group."""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.interop.agent import Agent
from tests.interop.command_line import Done, run_here
from tests.interop.driver import Refused
from tests.interop.shares.member import ShareMember
from tests.rigs.repository import ROOT
from tidelog.cli.exits import Exit
from tidelog.shares.dead_letters.letters import Origin, Reason, context_headers
from tidelog.testing import Broker, Security

TOPIC, SECRET, GROUP, DEAD = "jobs", "secret", "workers", "dlq.jobs"
ACLS = [
    ("ann", "READ", "TOPIC", TOPIC),
    ("ann", "READ", "GROUP", GROUP),
    ("ann", "READ", "TOPIC", DEAD),
    ("bob", "READ", "TOPIC", DEAD),
    ("bob", "WRITE", "TOPIC", DEAD),
    ("bob", "DESCRIBE", "TOPIC", TOPIC),
]
TOPIC_AUTHORIZATION_FAILED, GROUP_AUTHORIZATION_FAILED = 29, 30
LIBRARIES = {"java": "java", "confluent": "librdkafka"}

Join = Callable[[str, str, str], ShareMember]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Broker]:
    security = Security("sasl_ssl", "SCRAM-SHA-512", users=["ann", "bob"], acls=ACLS)
    with Broker(security=security, settings={"share.coordinator.state.topic.num.partitions": 4}) as broker:
        write(broker, TOPIC, SECRET)
        yield broker


def write(broker: Broker, *topics: str) -> None:
    producer = Producer(broker.client_config("admin"))
    for topic in topics:
        producer.produce(topic, b"work")
    assert producer.flush(20) == 0


@pytest.fixture
def join(guarded: Broker, java: Agent) -> Iterator[Join]:
    """Ann's member of a group: a kind of client, the group, the topic."""
    python = Agent([sys.executable, "-m", "tests.interop.members.agent", "confluent"], ROOT)
    members: list[ShareMember] = []

    def open_member(kind: str, group: str, topic: str) -> ShareMember:
        settings: dict[str, Any] = guarded.client_config("ann", LIBRARIES[kind])
        wanted = {"bootstrap": guarded.bootstrap_servers, "group": group, "topics": [topic]}
        how = {"explicit": True, "exact": False, "max_records": 10}
        process = java if kind == "java" else python
        members.append(ShareMember(process, False, **wanted, **how, settings=settings))
        return members[-1]

    yield open_member
    for member in members:
        member.close()
    python.close()


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_member_with_permission_works(guarded: Broker, join: Join, kind: str) -> None:
    member = join(kind, GROUP, TOPIC)
    records = member.take(1)
    while not records:  # the group begins at the latest, whenever it begins
        write(guarded, TOPIC)
        records = member.take(1)
    member.finish(records)


@pytest.mark.parametrize("kind", LIBRARIES)
@pytest.mark.parametrize(
    ("group", "topic", "code"),
    [
        ("others", TOPIC, GROUP_AUTHORIZATION_FAILED),
        (GROUP, SECRET, TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_a_member_without_permission_is_told(
    join: Join, kind: str, group: str, topic: str, code: int
) -> None:
    assert refusal(join(kind, group, topic)) == code


def refusal(member: ShareMember) -> int | None:
    """Java's client throws; librdkafka's brings an error in place of a record, or throws."""
    for _ in range(10):
        try:
            assert member.take(1) == []
        except Refused as refused:
            return refused.code
        member.look()
        failures = [what[0] for _, kind, what in member.notes if kind == "failed"]
        if failures:
            return int(failures[0])
    return None


def test_a_redrive_without_permission_says_what_it_takes(
    guarded: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def queue(user: str, *arguments: str) -> Done:
        properties = [f"{name}={value}" for name, value in guarded.client_config(user).items()]
        flags = [part for each in properties for part in ("-X", each)]
        given = ["queue", *arguments, "-b", guarded.bootstrap_servers, *flags]
        return run_here(capsys, monkeypatch, given, b"", None)

    write(guarded, TOPIC)
    producer = Producer(guarded.client_config("admin"))
    headers = context_headers(Origin(TOPIC, 0, GROUP), 0, 1, Reason.REJECTED)
    producer.produce(DEAD, b"work", headers=list(headers))
    assert producer.flush(20) == 0

    unknown = queue("ann", "dead-letters", GROUP)
    assert unknown.code == Exit.DENIED
    assert "--dead-letter-topic" in unknown.err
    assert f"--operation describe-configs --group {GROUP}" in unknown.err

    where = ("--dead-letter-topic", DEAD)
    for user, code in (("ann", "Cluster"), ("bob", "Topic")):  # bob may write the claim alone
        assert "work" in queue(user, "dead-letters", GROUP, *where).out
        refused = queue(user, "redrive", GROUP, *where, "--execute")
        assert refused.code == Exit.DENIED
        assert f"{TOPIC}[0]: {code} authorization failed" in refused.err
        assert f"--principal User:{user} --operation write --topic {TOPIC}" in refused.err
    begun = queue("ann", "dead-letters", GROUP, *where)
    assert "A redrive has begun with 1 dead letter, and is not done" in begun.err

    queue("admin", "redrive", GROUP, *where, "--execute")
    again = queue("ann", "dead-letters", GROUP, *where)
    assert (again.out, again.err) == (f"No such dead letters in {DEAD}.\n", "")
