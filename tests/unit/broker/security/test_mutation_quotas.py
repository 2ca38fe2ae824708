"""controller_mutation_rate: bursts, debts, refusals and pauses."""

import pytest

from tests.rigs.quotas import EVERY_USER, StillClock
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.security import mutation_quotas
from tidelog.broker.security.mutation_quotas import MutationCharge, MutationQuotas
from tidelog.security.quotas.entity import DEFAULT, QuotaEntity, QuotaKey

RATE = {QuotaKey.CONTROLLER_MUTATION_RATE: 2.0}


def quotas(clock: StillClock) -> MutationQuotas:
    made = MutationQuotas(clock, windows=11, window_ms=1000)
    made.follow({EVERY_USER: RATE})
    return made


def charge(given: MutationQuotas, user: str = "alice", *, is_strict: bool = True) -> MutationCharge:
    made = given.charge_of(f"User:{user}", "app", is_strict=is_strict)
    assert made is not None
    return made


def test_without_a_quota_nothing_is_charged() -> None:
    made = MutationQuotas(StillClock(), windows=11, window_ms=1000)
    assert made.charge_of("User:alice", "app", is_strict=True) is None


def test_a_burst_may_leave_a_debt_and_the_next_request_is_refused() -> None:
    clock = StillClock()
    given = quotas(clock)
    first = charge(given)
    first.take(22)
    first.take(10)  # nothing is left, and nothing was owed
    assert first.throttle_ms == 0
    second = charge(given)
    with pytest.raises(KafkaError) as refused:
        second.take(1)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert second.throttle_ms == 5000
    clock.now += 5
    charge(given).take(1)


def test_a_refused_request_costs_nothing() -> None:
    clock = StillClock()
    given = quotas(clock)
    charge(given).take(24)
    for _ in range(5):
        refused = charge(given)
        with pytest.raises(KafkaError):
            refused.take(1000)
        assert refused.throttle_ms == 1000


def test_older_clients_are_served_and_pause() -> None:
    given = quotas(StillClock())
    old = charge(given, is_strict=False)
    old.take(32)
    assert old.throttle_ms == 5000
    old.take(2)
    assert old.throttle_ms == 6000


def test_users_have_buckets_of_their_own() -> None:
    given = quotas(StillClock())
    charge(given).take(100)
    charge(given, "bob").take(1)


def test_a_decision_that_is_made_again_pays_once() -> None:
    given = quotas(StillClock())
    deciding = charge(given, is_strict=False)
    for _ in range(3):
        deciding.anew()(22)
    assert deciding.throttle_ms == 0


def test_full_buckets_are_forgotten_and_debts_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutation_quotas, "BUCKETS_MAX", 10)
    clock = StillClock()
    given = MutationQuotas(clock, windows=11, window_ms=1000)
    given.follow({QuotaEntity(user=DEFAULT): RATE})
    charge(given, "indebted").take(1000)
    for number in range(100):
        charge(given, f"user-{number}").take(1)
        clock.now += 0.5
    with pytest.raises(KafkaError):
        charge(given, "indebted").take(1)
