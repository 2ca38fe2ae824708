"""Clocks of brokers that are apart."""

from collections.abc import Iterator
from itertools import combinations

from tidelog.cli.doctor.checks.facts import BrokerState, DoctorFacts
from tidelog.cli.findings import CheckFinding, Severity

APART_MS, FAR_APART_MS = 500.0, 5_000.0


def check_clocks(facts: DoctorFacts) -> Iterator[CheckFinding]:
    """The pair that is furthest apart, beyond what the measure itself leaves in doubt."""
    pairs = list(combinations(facts.states.values(), 2))
    if not pairs:
        return
    one, other = max(pairs, key=lambda pair: _apart(*pair))
    apart = _apart(one, other)
    if apart > APART_MS:
        ahead, behind = (one, other) if one.clock_ahead_ms > other.clock_ahead_ms else (other, one)
        yield CheckFinding(
            "clocks-apart",
            Severity.SERIOUS if apart > FAR_APART_MS else Severity.MEDIUM,
            f"broker {ahead.id} and broker {behind.id}",
            f"the clock of broker {ahead.id} is {apart / 1000:.1f} s ahead of that of broker {behind.id}",
            "timestamps, retention by time, tokens and certificates depend on who is asked.",
            "run a time service (chrony, systemd-timesyncd) on all machines, and see that it is in sync",
        )


def _apart(one: BrokerState, other: BrokerState) -> float:
    difference = abs(one.clock_ahead_ms - other.clock_ahead_ms)
    return max(0.0, difference - one.clock_doubt_ms - other.clock_doubt_ms)
