"""What the audit record tells of calls of the registry."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace

import pytest

from tests.rigs.local_registry import LocalRegistry
from tidelog.broker.registry.audited import record_call
from tidelog.broker.registry.calls import Call
from tidelog.broker.registry.here import CallsHere
from tidelog.broker.registry.led import NotCommitted


class Recorded:
    """Stands for the audit record."""

    def __init__(self):
        self.events = []
        self.record = self.events.append

    def wants(self, kind):
        return True


REGISTER = Call("POST", "/subjects/a%2Fb/versions", body=b'{"schema":"\\"string\\""}', principal="User:ann")


def results(*calls):
    registry, audit = LocalRegistry(), Recorded()
    for call in calls:
        before = registry.records
        answer = registry.answer(call)
        written = registry.records > before
        record_call(SimpleNamespace(audit=audit), call, answer, has_written=written)
    return [(event.actor.principal, event.operation, event.resource, event.result) for event in audit.events]


def test_a_change_is_recorded_once_and_its_repetition_is_none():
    assert results(REGISTER, REGISTER) == [("User:ann", "POST", "/subjects/a/b/versions", "OK")]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (REGISTER._replace(body=b'{"schema":"x"}'), "INVALID_SCHEMA"),
        (Call("DELETE", "/subjects/none"), "SUBJECT_NOT_FOUND"),
        (Call("PUT", "/mode", body=b'{"mode":"x"}'), "INVALID_MODE"),
    ],
)
def test_a_refused_change_is_recorded_with_its_reason(call, result):
    assert [one[-1] for one in results(call)] == [result]


@pytest.mark.parametrize(
    "call",
    [
        Call("GET", "/subjects/none/versions"),
        Call("POST", "/subjects/none", body=b'{"schema":"x"}'),
        Call("POST", "/compatibility/subjects/none/versions", body=b'{"schema":"x"}'),
    ],
)
def test_questions_are_no_changes(call):
    assert results(call) == []


@pytest.mark.parametrize("has_written", [True, False])
@pytest.mark.parametrize("end", [asyncio.CancelledError, NotCommitted])
def test_a_change_without_an_answer_is_recorded_as_one_that_may_have_happened(end, has_written):
    """A client that leaves right after its request must not change schemas unseen."""
    audit = Recorded()
    log = SimpleNamespace(config=SimpleNamespace(delete=False))
    served = SimpleNamespace(partition=SimpleNamespace(log=log))

    async def found():
        return served

    async def answering(call, leading):
        leading.has_written = has_written
        raise end

    services = SimpleNamespace(audit=audit, metadata=SimpleNamespace(node_id=1))
    coordinator = SimpleNamespace(problem=None, has_topic=True, served=found)
    here = CallsHere(services, coordinator, None, answering)
    with suppress(asyncio.CancelledError):
        asyncio.run(here.run(REGISTER))
    assert [event.result for event in audit.events] == ["OPERATION_TIMEOUT"] * has_written
