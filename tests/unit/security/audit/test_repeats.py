import pytest

from tidelog.security.audit.event import OK, Actor, AuditEvent, AuditKind
from tidelog.security.audit.repeats import KEPT_MAX, REFUSALS_MAX, Repeats


def denied(
    resource: str, kind: AuditKind = AuditKind.DENIED, *, result: str = "", host: str = "192.0.2.1"
) -> AuditEvent:
    actor = Actor("User:bob", host, "CLIENTS")
    return AuditEvent(kind=kind, actor=actor, resource=resource, result=result)


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


def test_every_change_makes_a_line_unless_it_was_refused() -> None:
    repeats = Repeats()
    changed, refused = (denied("a", AuditKind.CHANGED, result=result) for result in (OK, "INVALID_REQUEST"))
    assert all(repeats.is_first(changed) for _ in range(REFUSALS_MAX + 1))
    assert list(repeats.end_of_interval()) == []
    assert [repeats.is_first(refused) for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize("kind", [AuditKind.DENIED, AuditKind.CHANGED])
def test_a_client_that_is_refused_something_else_every_time_does_not_hide_others(kind: AuditKind) -> None:
    repeats = Repeats()
    lines = sum(repeats.is_first(denied(f"{number}", kind)) for number in range(REFUSALS_MAX + 500))
    assert lines == REFUSALS_MAX
    assert repeats.is_first(denied("a", kind, host="192.0.2.2"))
    [(rest, count)] = repeats.end_of_interval()
    assert (rest.kind, rest.actor.principal, rest.resource, count) == (kind, "User:bob", "", 500)
    assert repeats.is_first(denied("another interval", kind))


def test_memory_is_bounded() -> None:
    repeats = Repeats()
    for number in range(2 * KEPT_MAX):
        repeats.is_first(denied("a", host=f"{number}"))
    assert repeats.is_first(denied("one more", host="x"))
    assert repeats.is_first(denied("one more", host="x"))
    assert len(repeats._counts) == len(repeats._refusals) == KEPT_MAX
