"""A finding: what is open, how bad that is, why it matters, and what mends it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any


class Severity(IntEnum):
    LOW = 1
    MEDIUM = 2
    SERIOUS = 3


@dataclass(frozen=True, slots=True)
class SecurityFinding:
    code: str
    """A stable name, for scripts."""
    severity: Severity
    where: str
    """The broker, listener, user or file."""
    what: str
    why: str
    mend: str

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity.name.lower(),
            "where": self.where,
            "what": self.what,
            "why": self.why,
            "mend": self.mend,
        }


def merged(findings: Iterable[SecurityFinding]) -> list[SecurityFinding]:
    """The worst first; what is the same in several places becomes one finding with all of them."""
    places: dict[SecurityFinding, list[str]] = {}
    for finding in findings:
        where = places.setdefault(replace(finding, where=""), [])
        if finding.where not in where:
            where.append(finding.where)
    joined = [replace(finding, where="; ".join(where)) for finding, where in places.items()]
    return sorted(joined, key=lambda finding: (-finding.severity, finding.code))
