import json
from typing import Any

from tests.rigs.virtual_time import run
from tidelog.broker.security.audit.audit import Audit, Backlog
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.security.audit.event import Actor, AuditKind

BOB = Actor("User:bob", "192.0.2.1", "CLIENTS", "etl")


class Lines:
    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.flushed = 0

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    async def flush(self) -> None:
        self.flushed += 1


class StoppedClock:
    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        return 0.0


def audit_of(*kinds: AuditKind) -> tuple[Audit, Lines]:
    sink = Lines()
    return Audit(kinds, [sink], StoppedClock(), 1), sink


def test_events_of_other_kinds_are_left_out() -> None:
    audit, sink = audit_of(AuditKind.DENIED)
    audit.authenticated(BOB, "PLAIN")
    audit.denied(BOB, "Fetch", Operation.READ, ResourceType.TOPIC, "orders")
    assert [line["event"] for line in sink.lines] == ["denied"]


def test_a_flood_of_denials_is_two_lines_a_second() -> None:
    audit, sink = audit_of(AuditKind.DENIED)
    for _ in range(1_000):
        audit.denied(BOB, "Fetch", Operation.READ, ResourceType.TOPIC, "orders")
    run(audit.end_interval())
    assert [line.get("repeated", 0) for line in sink.lines] == [0, 999]
    assert sink.flushed == 1


def test_long_names_are_not_kept_while_events_are_counted() -> None:
    audit, _ = audit_of(AuditKind.DENIED)
    actor = Actor("User:bob", "192.0.2.1", "CLIENTS", "c" * 32_000)
    audit.denied(actor, "Fetch", Operation.READ, ResourceType.TOPIC, "x" * 32_000)
    [kept] = audit._repeats._counts
    assert len(kept.resource) + len(kept.actor.client_id or "") < 1_000


def test_a_failed_authentication_names_the_user_that_was_given() -> None:
    audit, sink = audit_of(AuditKind.AUTHENTICATION_FAILED)
    audit.authentication_failed(BOB, "SCRAM-SHA-256", "alice", "wrong user or password")
    audit.authentication_failed(BOB, "SSL", "", "no certificate")
    assert [line["details"] for line in sink.lines] == [
        {"mechanism": "SCRAM-SHA-256", "user": "alice"},
        {"mechanism": "SSL"},
    ]


def test_a_backlog_has_a_bound_and_says_what_is_missing() -> None:
    backlog = Backlog(10, lambda count: b"%d missing" % count)
    for _ in range(5):
        backlog.add(b"1234")
    assert backlog.take() == [b"1234", b"1234", b"3 missing"]
    assert not backlog


def test_lines_that_could_not_be_written_come_first() -> None:
    backlog = Backlog(10, lambda count: b"%d missing" % count)
    backlog.add(b"a")
    taken = backlog.take()
    backlog.add(b"b")
    backlog.give_back(taken)
    assert backlog.take() == [b"a", b"b"]
