"""Checks of losses: what was answered is there at the end, registrations, deletions and configurations.

A subject that one client alone writes to has its requests one after the other. The client leaves it after a
request whose outcome it does not know, so that at the end either that request has happened or not.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.registry_history import OK, SHARED, UNSURE, RegistryHistory, RegistryRequest


class _Held(NamedTuple):
    text: str
    deleted: bool


_Versions = dict[int, _Held]


class _Subject(NamedTuple):
    versions: _Versions
    level: str


def lost_registrations(history: RegistryHistory) -> Iterator[Anomaly]:
    """Under a subject that is never deleted from."""
    last = {(one.subject, one.version): (one.id, one.text, one.deleted) for one in history.last}
    for one in history.registered() if history.is_complete else ():
        if one.subject.startswith(SHARED):
            found = last.get((one.subject, one.version))
            if found != (one.id, one.text, False):
                yield Anomaly(
                    "lost registration",
                    f"{one.client} got id {one.id} and version {one.version} of {one.subject} for {one.text} "
                    f"at {one.ended:.3f} s, and the end has {found}",
                )


def lost_changes(history: RegistryHistory) -> Iterator[Anomaly]:
    """Under a subject of one client."""
    for subject in history.subjects() if history.is_complete else ():
        if subject.startswith(SHARED):
            continue
        held = {one.version: _Held(one.text, one.deleted) for one in history.last if one.subject == subject}
        last = _Subject(held, history.last_levels.get(subject, ""))
        possible = _possible(history.of(subject))
        if last in possible:
            continue
        if any(one.versions == held for one in possible):
            levels = [one.level or "none" for one in possible]
            yield Anomaly("lost config", f"{subject} ends with {last.level or 'none'}, and can be {levels}")
        else:
            yield Anomaly("lost change", f"{subject} ends with {held}, and can be {possible}")


def _possible(requests: list[RegistryRequest]) -> list[_Subject]:
    """Returns the ends that a subject can have: without and with its last request, if that is unsure."""
    possible = [_Subject({}, "")]
    for one in requests:
        if one.outcome in (OK, UNSURE):
            after = _after(possible[0], one)
            possible = [after] if one.outcome == OK else [possible[0], after]
    return possible


def _after(subject: _Subject, request: RegistryRequest) -> _Subject:
    versions, level = subject
    if request.kind == "config":
        return _Subject(versions, request.level)
    if request.kind == "register":
        return _Subject(_registered(versions, request), level)
    if request.permanent:
        versions = {number: held for number, held in versions.items() if not _is_meant(number, request)}
        return _Subject(versions, level if versions else "")
    return _Subject(
        {
            number: held._replace(deleted=held.deleted or _is_meant(number, request))
            for number, held in versions.items()
        },
        level,
    )


def _is_meant(version: int, request: RegistryRequest) -> bool:
    return request.kind == "delete_subject" or version == request.version


def _registered(versions: _Versions, request: RegistryRequest) -> _Versions:
    if _Held(request.text, False) in versions.values():
        return versions
    following = max(versions, default=0) + 1
    others = {number: held for number, held in versions.items() if held != _Held(request.text, True)}
    return {**others, following: _Held(request.text, False)}
