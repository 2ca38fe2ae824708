"""Which replicas are limited, and when they have had enough."""

import pytest

from tidelog.broker.quota import ReplicationQuota


class Rig:
    def __init__(self, rate: int = 1_000, throttled: str | None = "0:1,2:1,3:2") -> None:
        self.now = 100.0
        self.rate = rate
        self.throttled = throttled
        self.quota = ReplicationQuota(1, lambda: self.rate, lambda _: self.throttled, lambda: self.now)


@pytest.mark.parametrize(
    ("text", "limited"),
    [
        ("0:1,2:1,3:2", [0, 2]),
        ("*", [0, 1, 2, 3]),
        (" 1:1 , 3:1", [1, 3]),
        ("0:2,*", [0, 1, 2, 3]),
        ("0:11", []),
        ("", []),
        (None, []),
    ],
)
def test_only_this_brokers_replicas_that_are_listed(text: str | None, limited: list[int]) -> None:
    rig = Rig(throttled=text)
    assert [index for index in range(4) if rig.quota.limits("orders", index)] == limited


def test_the_list_may_change_at_any_time() -> None:
    rig = Rig(throttled="0:1")
    assert rig.quota.limits("orders", 0)
    rig.throttled = "1:1"
    assert not rig.quota.limits("orders", 0)
    rig.throttled = None
    assert not rig.quota.limits("orders", 1)


def test_a_burst_counts_for_ten_seconds() -> None:
    rig = Rig(rate=1_000)
    rig.quota.record(10_000)
    assert not rig.quota.is_exceeded()
    rig.quota.record(1)
    assert rig.quota.is_exceeded()
    rig.now += 9.9
    assert rig.quota.is_exceeded()
    rig.now += 0.2
    assert not rig.quota.is_exceeded()


def test_over_a_long_time_the_rate_is_kept() -> None:
    rig = Rig(rate=1_000)
    passed = 0
    for _ in range(6_000):
        if not rig.quota.is_exceeded():
            rig.quota.record(500)
            passed += 500
        rig.now += 0.1
    assert 0.9 * 600_000 < passed < 1.1 * 600_000 + 10_000


def test_another_rate_holds_at_once() -> None:
    rig = Rig(rate=10)
    rig.quota.record(1_000)
    assert rig.quota.is_exceeded()
    rig.rate = 2**31 - 1
    assert not rig.quota.is_exceeded()
    rig.rate = 0
    assert rig.quota.is_exceeded()
