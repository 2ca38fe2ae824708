"""Pauses of clients are counted under the quota that caused them, and none is counted twice."""

from tests.rigs.quotas import StillClock, client_quotas
from tidelog.broker.security.request_charge import RequestCharge


def test_each_quota_counts_its_pauses() -> None:
    quotas = client_quotas(StillClock(), producer_byte_rate=10.0, consumer_byte_rate=10.0)
    limits = quotas.limits_of("User:ann", "app")
    within = RequestCharge(quotas, limits)
    within.produced(50)
    assert within.end() == 0
    assert sum(quotas.counts.requests.values()) == 0
    over = RequestCharge(quotas, limits)
    over.produced(1_000)
    pause = over.end()
    assert pause > 0
    assert quotas.counts.requests == {"produce": 1, "fetch": 0, "request": 0, "mutation": 0}
    assert quotas.counts.milliseconds["produce"] == pause
    reading = RequestCharge(quotas, limits)
    reading.fetched(5_000)
    assert quotas.counts.requests["fetch"] == 1
    assert quotas.counts.milliseconds["fetch"] == reading.end()
