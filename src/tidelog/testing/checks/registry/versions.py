"""Checks of versions where nothing is deleted: they ascend in time, and have no gaps."""

from collections.abc import Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.registry_history import OK, SHARED, RegistryHistory, RegistryRequest


def versions(history: RegistryHistory) -> Iterator[Anomaly]:
    for subject in history.subjects():
        if subject.startswith(SHARED):
            requests = [one for one in history.of(subject) if one.kind == "register"]
            yield from _two_versions(subject, requests)
            yield from _descending(subject, requests)
            if history.is_complete:
                yield from _gaps(subject, history)


def _two_versions(subject: str, requests: list[RegistryRequest]) -> Iterator[Anomaly]:
    by_text: dict[str, int] = {}
    by_version: dict[int, str] = {}
    for one in requests:
        if one.outcome != OK:
            continue
        if by_text.setdefault(one.text, one.version) != one.version:
            yield Anomaly("two versions", f"{one.text} of {subject} is {by_text[one.text]} and {one.version}")
        if by_version.setdefault(one.version, one.text) != one.text:
            yield Anomaly(
                "two versions", f"{subject} {one.version} is {by_version[one.version]} and {one.text}"
            )


def _descending(subject: str, requests: list[RegistryRequest]) -> Iterator[Anomaly]:
    """A schema that was first sent after another was answered has a later version."""
    first_sent: dict[str, float] = {}
    for one in requests:
        first_sent[one.text] = min(one.started, first_sent.get(one.text, one.started))
    answered = [one for one in requests if one.outcome == OK]
    for one in answered:
        for other in answered:
            if first_sent[other.text] > one.ended and other.version <= one.version:
                yield Anomaly(
                    "descending versions",
                    f"{one.text} of {subject} got version {one.version}, and {other.text}, which was sent "
                    f"later, {other.version}",
                )


def _gaps(subject: str, history: RegistryHistory) -> Iterator[Anomaly]:
    last = sorted(one.version for one in history.last if one.subject == subject)
    if last != list(range(1, len(last) + 1)):
        yield Anomaly("versions with gaps", f"{subject} ends with {last}")
