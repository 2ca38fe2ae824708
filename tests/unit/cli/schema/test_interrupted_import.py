"""Imports of read-only and soft-deleted subjects end as the source is, also after an interruption."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.local_registry import LocalRegistry, body_of, record
from tests.rigs.registry_client import client_of
from tidelog.broker.registry.calls import Call
from tidelog.cli.schema.moving.plan import plan_import
from tidelog.cli.schema.moving.reading import read_registry
from tidelog.cli.schema.moving.writing import carry_out

ADDRESS = [{"name": "Order", "subject": "orders-value", "version": 1}]
USING = {"type": "record", "name": "Using", "fields": [{"name": "order", "type": "Order"}]}


class Interrupted(Exception):
    """Stands for the end of a process."""


@pytest.fixture
def source() -> LocalRegistry:
    """A subject of each kind: deleted versions that refer to each other, settings, and the mode READONLY."""
    made = LocalRegistry()
    made.register("orders-value", record("a"))
    made.register("orders-value", record("a", "b"))
    made.register("using-value", USING, references=ADDRESS)
    made.delete("/subjects/using-value")
    made.delete("/subjects/orders-value/versions/1")
    for subject in ("orders-value", "using-value"):
        made.put(f"/config/{subject}", {"compatibility": "FULL"})
        made.put(f"/mode/{subject}", {"mode": "READONLY"})
    return made


def bring(source: LocalRegistry, target: LocalRegistry) -> None:
    client, exported = client_of(target), read_registry(client_of(source), deleted=True)
    plan = plan_import(client, exported)
    assert plan.conflicts == []
    carry_out(client, exported, plan, with_configs=True)


def content(registry: LocalRegistry) -> Any:
    exported = read_registry(client_of(registry), deleted=True)
    return exported.subjects, exported.config, exported.mode


def test_an_import_ends_as_the_source_is(source: LocalRegistry) -> None:
    target = LocalRegistry()
    bring(source, target)
    assert content(target) == content(source)
    records = target.records
    bring(source, target)
    assert target.records == records, "there is nothing left to write"


def interrupting(target: LocalRegistry, after: int, end: str) -> Callable[..., Any]:
    """Lets some changes through. Then the process is killed, or one change fails."""
    send, changes = target.send, 0

    def interrupted(call: Call) -> Any:
        nonlocal changes
        changes += call.method != "GET"
        if changes > after and (end == "killed" or (changes == after + 1 and call.method != "GET")):
            raise Interrupted
        return send(call)

    return interrupted


@pytest.mark.parametrize("end", ["killed", "failed"])
def test_an_import_that_was_interrupted_anywhere_is_completed_by_the_next(
    source: LocalRegistry, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for after in range(100):
        target = LocalRegistry()
        with monkeypatch.context() as patched:
            patched.setattr(target, "send", interrupting(target, after, end))
            try:
                bring(source, target)
            except Interrupted:
                is_interrupted = True
            else:
                is_interrupted = False
        bring(source, target)
        assert content(target) == content(source), after
        if not is_interrupted:
            assert after > 10
            return
    raise AssertionError("no import came to its end")


def test_subjects_without_a_name_have_no_settings_of_their_own() -> None:
    source, target = LocalRegistry(), LocalRegistry()
    for subject in ("", ":.staging:"):
        assert source.post(f"/subjects/{subject}/versions", body_of(record("a"))).status == 200
    source.put("/config", {"compatibility": "NONE"})
    source.put("/config/:.staging:", {"compatibility": "FULL"})
    bring(source, target)
    assert target.get("/config").json == {"compatibilityLevel": "BACKWARD"}
    assert target.get("/config/:.staging:").json == {"compatibilityLevel": "FULL"}
    assert target.get("/mode").json == {"mode": "READWRITE"}
    assert target.get("/subjects").json == source.get("/subjects").json == ["", ":.staging:"]


def test_a_subject_that_is_an_alias_keeps_its_own_versions() -> None:
    source, target = LocalRegistry(), LocalRegistry()
    source.register("old-value", record("a"))
    source.register("old-value", record("a", "b"))
    source.delete("/subjects/old-value/versions/1")
    source.register("new-value", record("c", name="Other"))
    source.put("/config/old-value", {"alias": "new-value"})
    for _ in range(2):
        bring(source, target)
        assert content(target) == content(source)
        assert target.get("/schemas", "deleted=true").json == source.get("/schemas", "deleted=true").json
    source.put("/config/old-value", {"alias": None})
    source.register("old-value", record("a", "b", "d"))
    exported = read_registry(client_of(source), deleted=True)
    assert plan_import(client_of(target), exported).conflicts == [
        "'old-value' version 3: here its subject is an alias of 'new-value'. Remove the alias."
    ]
