"""Checks of ids: one content has one id, and an id means one content for ever."""

from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.registry_history import OK, REFUSED, SHARED, RegistryHistory


def two_ids(history: RegistryHistory) -> Iterator[Anomaly]:
    """A schema that is never deleted was registered under two ids."""
    ids: dict[str, tuple[int, str]] = {}
    for one in history.registered():
        if not one.subject.startswith(SHARED):
            continue
        known, where = ids.setdefault(one.text, (one.id, f"{one.client} in {one.subject}"))
        if known != one.id:
            yield Anomaly(
                "two ids",
                f"{one.text} is {known} for {where}, and {one.id} for {one.client} in {one.subject}",
            )


def two_contents(history: RegistryHistory) -> Iterator[Anomaly]:
    """An id was given for one schema and then for another, or is read as another."""
    texts: dict[int, str] = {}
    seen = [(one.id, one.text) for one in history.requests if one.outcome == OK and one.id]
    seen += [(one.id, one.text) for one in history.last]
    for schema_id, text in seen:
        if texts.setdefault(schema_id, text) != text:
            yield Anomaly("two contents", f"id {schema_id} means {texts[schema_id]} and {text}")


def missing_reads(history: RegistryHistory) -> Iterator[Anomaly]:
    """An id that was answered, and whose schema is never deleted, was not found later."""
    given: dict[int, float] = {}
    for one in history.registered():
        if one.subject.startswith(SHARED):
            given[one.id] = min(one.ended, given.get(one.id, one.ended))
    for one in history.requests:
        is_missing = one.kind == "read" and one.outcome == REFUSED
        if is_missing and one.id in given and one.started > given[one.id]:
            yield Anomaly(
                "missing read",
                f"{one.client} read id {one.id} at {one.started:.3f} s, given at {given[one.id]:.3f} s: "
                f"{one.code}",
            )
