"""Limits of a machine, divided among its cores."""

from tidelog.security.quotas.entity import QuotaEntity, QuotaKey
from tidelog.security.quotas.share import UNLIMITED, share_of, shared_quotas


def test_a_limit_is_divided_but_never_to_nothing() -> None:
    assert share_of(100, 4) == 25
    assert share_of(3, 4) == 1
    assert share_of(100, 4, least=30) == 30
    assert share_of(100, 1, least=300) == 100


def test_none_and_all_are_not_divided() -> None:
    assert share_of(0, 4, least=30) == 0
    assert share_of(UNLIMITED, 4) == UNLIMITED


def test_quotas_are_divided_except_those_that_the_controller_counts() -> None:
    of_machine = {
        QuotaEntity("alice"): {QuotaKey.PRODUCER_BYTE_RATE: 100.0, QuotaKey.CONTROLLER_MUTATION_RATE: 8.0},
        QuotaEntity(ip=None): {QuotaKey.CONNECTION_CREATION_RATE: 2.0},
    }
    assert shared_quotas(of_machine, 4) == {
        QuotaEntity("alice"): {QuotaKey.PRODUCER_BYTE_RATE: 25.0, QuotaKey.CONTROLLER_MUTATION_RATE: 8.0},
        QuotaEntity(ip=None): {QuotaKey.CONNECTION_CREATION_RATE: 0.5},
    }
    assert shared_quotas(of_machine, 1) is of_machine
