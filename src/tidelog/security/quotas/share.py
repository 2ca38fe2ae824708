"""What a core gets of a limit that holds for its machine: the brokers of a machine divide it evenly."""

from tidelog.security.quotas.entity import QuotaKey, Quotas

UNLIMITED = 2**31 - 1
OF_THE_CLUSTER = frozenset({QuotaKey.CONTROLLER_MUTATION_RATE})
"""Counted by the controller alone, so that the cores of a machine have nothing to divide."""


def share_of(limit: int, cores: int, least: int = 1) -> int:
    """Zero keeps everybody out, and no limit stays none."""
    return limit if cores == 1 or limit <= 0 or limit >= UNLIMITED else max(least, limit // cores)


def shared_quotas(quotas: Quotas, cores: int) -> Quotas:
    if cores == 1:
        return quotas
    return {
        entity: {key: limit if key in OF_THE_CLUSTER else limit / cores for key, limit in limits.items()}
        for entity, limits in quotas.items()
    }
