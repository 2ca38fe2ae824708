"""One alert: when it fires, how bad that is, and what it says.

A job of Prometheus is a cluster: alerts about the whole of it are summed `by (job)`, alerts about a broker
keep its `instance`.
"""

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    CRITICAL = "critical"
    """Clients fail or data is in danger: wake a person up."""
    WARNING = "warning"
    """Something breaks if nothing is done: look at it today."""


@dataclass(frozen=True, slots=True)
class Alert:
    name: str
    severity: Severity
    expression: str
    hold: str
    """For how long the expression must hold, as Prometheus writes durations; 0m for at once."""
    summary: str
    description: str
    """With the figures: `{{ $value }}` and the labels that the expression leaves."""


def critical(name: str, expression: str, hold: str, summary: str, description: str) -> Alert:
    return Alert(name, Severity.CRITICAL, expression, hold, summary, description)


def warning(name: str, expression: str, hold: str, summary: str, description: str) -> Alert:
    return Alert(name, Severity.WARNING, expression, hold, summary, description)
