"""Findings of checks: what is wrong, how bad that is, why it matters, and what mends it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import click

from tidelog.cli.output import coloured


class Severity(IntEnum):
    LOW = 1
    MEDIUM = 2
    SERIOUS = 3


COLOURS = {Severity.SERIOUS: "red", Severity.MEDIUM: "yellow", Severity.LOW: "cyan"}


@dataclass(frozen=True, slots=True)
class CheckFinding:
    code: str
    """A stable name, for scripts."""
    severity: Severity
    where: str
    """The broker, listener, topic, group, user or file."""
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


def merged(findings: Iterable[CheckFinding]) -> list[CheckFinding]:
    """The worst first; what is the same in several places becomes one finding with all of them."""
    places: dict[CheckFinding, list[str]] = {}
    for finding in findings:
        where = places.setdefault(replace(finding, where=""), [])
        if finding.where not in where:
            where.append(finding.where)
    joined = [replace(finding, where="; ".join(where)) for finding, where in places.items()]
    return sorted(joined, key=lambda finding: (-finding.severity, finding.code))


def worst(findings: Iterable[CheckFinding]) -> Severity | None:
    return max((finding.severity for finding in findings), default=None)


def brokers_text(count: int) -> str:
    return "1 broker" if count == 1 else f"{count} brokers"


def print_findings(shown: Sequence[CheckFinding], looked_at: str, all_well: str) -> None:
    """`looked_at`: such as `3 brokers`."""
    for finding in shown:
        name = f"{finding.severity.name:<8}"
        head = click.style(name, fg=COLOURS[finding.severity], bold=True) if coloured() else name
        click.echo(f"{head} {finding.where}: {finding.what}.")
        click.echo(f"         Why: {finding.why}")
        click.echo(f"         Mend: {finding.mend}")
        click.echo()
    if not shown:
        click.echo(f"{all_well}: {looked_at} checked.")
        return
    count = {severity: sum(each.severity is severity for each in shown) for severity in Severity}
    figures = ", ".join(f"{count[severity]} {severity.name.lower()}" for severity in reversed(Severity))
    click.echo(f"{len(shown)} {'finding' if len(shown) == 1 else 'findings'} at {looked_at}: {figures}.")
