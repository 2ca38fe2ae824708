import json

from tidelog.security.audit.event import (
    DETAILS_MAX,
    TEXT_MAX,
    Actor,
    AuditEvent,
    AuditKind,
    bounded,
    dropped_line,
    line_of,
)

BOB = Actor("User:bob", "192.0.2.1", "CLIENTS", "etl")


def test_a_line_says_what_happened_and_nothing_empty() -> None:
    event = AuditEvent(
        kind=AuditKind.DENIED,
        actor=BOB,
        api="Produce",
        operation="WRITE",
        resource_type="TOPIC",
        resource="orders",
    )
    line = line_of(event, 1_700_000_000_045, 0, repeated=3)
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.045Z",
        "event": "denied",
        "broker": 0,
        "principal": "User:bob",
        "host": "192.0.2.1",
        "listener": "CLIENTS",
        "client_id": "etl",
        "api": "Produce",
        "operation": "WRITE",
        "resource_type": "TOPIC",
        "resource": "orders",
        "repeated": 3,
    }


def test_no_name_can_begin_a_line_of_its_own() -> None:
    forged = 'x\n{"event":"authenticated","principal":"User:admin"}\r\n\u2028\x1b[31m\ud800'
    event = AuditEvent(kind=AuditKind.DENIED, actor=Actor(forged, "h", "L", forged), resource=forged)
    line = line_of(event, 0, 1)
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert b"\x1b" not in line
    assert json.loads(line)["principal"].startswith("x\n")


def test_long_texts_are_shortened() -> None:
    event = AuditEvent(kind=AuditKind.DENIED, actor=BOB, resource="x" * 40_000, details=(("k", "y" * 9_999),))
    written = json.loads(line_of(event, 0, 1))
    assert written["resource"] == "x" * TEXT_MAX + "…"
    assert len(written["details"]["k"]) == TEXT_MAX + 1


def test_a_request_with_many_parts_makes_a_short_line() -> None:
    details = tuple((f"{number}" + "k" * 9_999, "v") for number in range(10_000))
    event = AuditEvent(kind=AuditKind.CHANGED, actor=BOB, details=details)
    line = line_of(event, 0, 1)
    assert len(line) < 20_000
    assert json.loads(line)["details"]["more"] == str(10_000 - DETAILS_MAX + 1)
    assert line_of(bounded(event), 0, 1) == line  # as it is written, after it was kept


def test_missing_events_are_named() -> None:
    assert json.loads(dropped_line(7, 0, 2)) == {
        "time": "1970-01-01T00:00:00.000Z",
        "event": "dropped",
        "broker": 2,
        "count": 7,
    }
