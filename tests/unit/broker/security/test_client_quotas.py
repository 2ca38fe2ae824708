"""Which limits a client has, what it shares with others, and what is forgotten."""

import pytest

from tests.rigs.quotas import StillClock
from tidelog.broker.security import client_quotas
from tidelog.broker.security.client_quotas import UNLIMITED, ClientQuotas, limits_clients, of_addresses
from tidelog.security.quotas.entity import DEFAULT, QuotaEntity, QuotaKey

BYTES = QuotaKey.PRODUCER_BYTE_RATE
CONNECTIONS = QuotaKey.CONNECTION_CREATION_RATE
ALICE = "User:alice"


def quotas(**limits: dict) -> ClientQuotas:
    made = ClientQuotas(StillClock(), windows=11, window_ms=1000)
    made.follow({QuotaEntity(user=name): given for name, given in limits.items()})
    return made


def test_a_client_without_a_quota_is_not_charged() -> None:
    assert quotas(alice={BYTES: 10}).limits_of("User:bob", "app") is UNLIMITED


def test_client_ids_of_a_user_share_the_users_rate() -> None:
    given = quotas(alice={BYTES: 10, QuotaKey.REQUEST_PERCENTAGE: 5})
    one, other = given.limits_of(ALICE, "one"), given.limits_of(ALICE, "other")
    assert one.produced_bytes is not None
    assert one.produced_bytes.rate is other.produced_bytes.rate
    assert one.produced_bytes.rate is not one.request_time.rate
    assert (one.produced_bytes.limit, one.request_time.limit, one.fetched_bytes) == (10, 5, None)


def test_each_client_id_has_its_own_rate_of_a_default() -> None:
    given = ClientQuotas(StillClock(), windows=11, window_ms=1000)
    given.follow({QuotaEntity(client_id=DEFAULT): {BYTES: 10}})
    one, other = given.limits_of(ALICE, "one"), given.limits_of(ALICE, "other")
    assert one.produced_bytes.rate is not other.produced_bytes.rate
    assert one.produced_bytes.rate is given.limits_of("User:bob", "one").produced_bytes.rate


def test_a_client_id_that_is_not_given_is_empty() -> None:
    given = ClientQuotas(StillClock(), windows=11, window_ms=1000)
    given.follow({QuotaEntity(client_id=DEFAULT): {BYTES: 10}})
    assert given.limits_of(ALICE, None).produced_bytes.rate is given.limits_of(ALICE, "").produced_bytes.rate


def test_a_change_holds_from_the_next_lookup_on_and_forgets_nothing() -> None:
    given = quotas(alice={BYTES: 10})
    given.limits_of(ALICE, "app").produced_bytes.charge(5000, 0)
    given.follow({QuotaEntity(user="alice"): {BYTES: 20}})
    limit = given.limits_of(ALICE, "app").produced_bytes
    assert limit.limit == 20
    assert limit.rate.total(0) == 5000
    given.follow({})
    assert given.limits_of(ALICE, "app") is UNLIMITED


def test_an_active_client_keeps_its_history() -> None:
    given = quotas(alice={BYTES: 10})
    given.limits_of(ALICE, "app").produced_bytes.charge(5000, 0)
    for _ in range(3):
        given.forget_idle()
        assert given.limits_of(ALICE, "app").produced_bytes.rate.total(0) == 5000


def test_an_idle_client_is_forgotten() -> None:
    given = quotas(alice={BYTES: 10})
    given.limits_of(ALICE, "app").produced_bytes.charge(5000, 0)
    given.forget_idle()
    given.forget_idle()
    assert len(given) == 0
    assert given.limits_of(ALICE, "app").produced_bytes.rate.total(0) == 0


def test_a_history_outlives_a_change_of_quotas_for_a_span_only() -> None:
    given = quotas(alice={BYTES: 10})
    given.limits_of(ALICE, "app").produced_bytes.charge(5000, 0)
    given.follow({QuotaEntity(user="alice"): {BYTES: 20}})
    given.forget_idle()
    assert len(given._rates) == 1
    given.forget_idle()
    assert len(given._rates) == 0


def test_a_million_client_ids_take_no_more_room_than_two_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_quotas, "CLIENTS_MAX", 100)
    given = ClientQuotas(StillClock(), windows=11, window_ms=1000)
    given.follow({QuotaEntity(client_id=DEFAULT): {BYTES: 10}})
    given.limits_of(ALICE, "steady").produced_bytes.charge(5000, 0)
    for number in range(10_000):
        given.limits_of(ALICE, f"invented-{number}")
        if number % 50 == 0:
            given.limits_of(ALICE, "steady")
    assert len(given) <= 200
    assert len(given._rates) <= 200
    assert given.limits_of(ALICE, "steady").produced_bytes.rate.total(0) == 5000


def test_quotas_of_addresses_do_not_charge_requests() -> None:
    of_ips = {QuotaEntity(ip="192.0.2.1"): {CONNECTIONS: 5.0}, QuotaEntity(ip=DEFAULT): {CONNECTIONS: 9.0}}
    assert not limits_clients(of_ips)
    assert limits_clients({**of_ips, QuotaEntity(user="alice"): {BYTES: 1.0}})
    assert of_addresses(of_ips) == {"192.0.2.1": 5.0, None: 9.0}
