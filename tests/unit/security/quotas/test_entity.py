"""Kafka's precedence of quotas, and whose traffic counts together."""

import pytest

from tidelog.security.quotas.entity import ABSENT, QuotaEntity, QuotaKey, connection_rate_of, quota_of

RATE = QuotaKey.PRODUCER_BYTE_RATE
IN_ORDER = [
    (QuotaEntity("alice", "app"), ("alice", "app")),
    (QuotaEntity("alice", None), ("alice", "app")),
    (QuotaEntity("alice"), ("alice", None)),
    (QuotaEntity(None, "app"), ("alice", "app")),
    (QuotaEntity(None, None), ("alice", "app")),
    (QuotaEntity(None), ("alice", None)),
    (QuotaEntity(ABSENT, "app"), (None, "app")),
    (QuotaEntity(ABSENT, None), (None, "app")),
]


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_the_most_specific_quota_applies(first) -> None:
    quotas = {
        entity: {RATE: float(position)} for position, (entity, _) in enumerate(IN_ORDER) if position >= first
    }
    assert quota_of(quotas, RATE, "alice", "app") == (first, IN_ORDER[first][1])


def test_a_quota_of_another_kind_or_entity_does_not_apply() -> None:
    quotas = {
        QuotaEntity("alice"): {QuotaKey.CONSUMER_BYTE_RATE: 1.0},
        QuotaEntity("bob"): {RATE: 1.0},
        QuotaEntity(ABSENT, "other"): {RATE: 1.0},
    }
    assert quota_of(quotas, RATE, "alice", "app") is None


def test_connections_of_an_address() -> None:
    key = QuotaKey.CONNECTION_CREATION_RATE
    quotas = {QuotaEntity(ip=None): {key: 5.0}, QuotaEntity(ip="192.0.2.1"): {key: 1.0}}
    assert connection_rate_of(quotas, "192.0.2.1") == 1.0
    assert connection_rate_of(quotas, "192.0.2.2") == 5.0
    assert connection_rate_of({}, "192.0.2.2") is None


def test_entities_as_text() -> None:
    assert str(QuotaEntity("alice", None)) == "user=alice, client-id=<default>"
    assert str(QuotaEntity(ip="::1")) == "ip=::1"
