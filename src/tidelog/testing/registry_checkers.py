"""Every check of what clients of the schema registry saw.

`check_registry(history)` returns what was broken, an empty list for a good history.
"""

from collections.abc import Callable, Iterator

from tidelog.testing.checks.anomaly import Anomaly
from tidelog.testing.checks.registry.ids import missing_reads, two_contents, two_ids
from tidelog.testing.checks.registry.losses import lost_changes, lost_registrations
from tidelog.testing.checks.registry.versions import versions
from tidelog.testing.registry_history import RegistryHistory

REGISTRY_CHECKS: tuple[Callable[[RegistryHistory], Iterator[Anomaly]], ...] = (
    two_ids,
    two_contents,
    missing_reads,
    versions,
    lost_registrations,
    lost_changes,
)


def check_registry(history: RegistryHistory) -> list[Anomaly]:
    return [anomaly for rule in REGISTRY_CHECKS for anomaly in rule(history)]
