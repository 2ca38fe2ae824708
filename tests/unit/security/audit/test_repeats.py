from tidelog.security.audit.event import Actor, AuditEvent, AuditKind
from tidelog.security.audit.repeats import KEPT_MAX, Repeats


def denied(resource: str, kind: AuditKind = AuditKind.DENIED) -> AuditEvent:
    return AuditEvent(kind=kind, actor=Actor("User:bob", "192.0.2.1", "CLIENTS"), resource=resource)


def test_the_first_event_makes_a_line_and_the_others_are_counted() -> None:
    repeats = Repeats()
    assert [repeats.is_first(denied("a")) for _ in range(4)] == [True, False, False, False]
    assert repeats.is_first(denied("b"))
    assert list(repeats.end_of_interval()) == [(denied("a"), 3)]


def test_an_event_that_goes_on_is_counted_once_an_interval() -> None:
    repeats = Repeats()
    for _ in range(2):
        repeats.is_first(denied("a"))
    assert list(repeats.end_of_interval()) == [(denied("a"), 1)]
    assert not repeats.is_first(denied("a"))
    assert list(repeats.end_of_interval()) == [(denied("a"), 1)]
    assert list(repeats.end_of_interval()) == []
    assert repeats.is_first(denied("a"))


def test_every_change_makes_a_line() -> None:
    repeats = Repeats()
    assert all(repeats.is_first(denied("a", AuditKind.CHANGED)) for _ in range(3))
    assert list(repeats.end_of_interval()) == []


def test_memory_is_bounded() -> None:
    repeats = Repeats()
    for number in range(KEPT_MAX):
        repeats.is_first(denied(str(number)))
    assert repeats.is_first(denied("one more"))
    assert repeats.is_first(denied("one more"))
