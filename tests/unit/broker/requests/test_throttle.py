"""What a request costs: bytes, and the time that the loop works for it."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.quotas import StillClock, client_quotas
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.throttle import Timed, charge_of
from tidelog.broker.security.authorizer import Authorizer
from tidelog.broker.security.request_charge import RequestCharge
from tidelog.security.quotas.entity import QuotaEntity, QuotaKey
from tidelog.wire.apis import ApiKey


def charge(clock: StillClock, **limits: float) -> RequestCharge:
    quotas = client_quotas(clock, **limits)
    return RequestCharge(quotas, quotas.limits_of("User:alice", "app"))


def test_produced_bytes_beyond_the_burst_make_a_pause() -> None:
    request = charge(StillClock(), producer_byte_rate=100)
    request.produced(1000)
    assert request.end() == 0
    request.produced(100)
    assert request.end() == 1000


def test_records_beyond_the_quota_are_put_off_and_do_not_count() -> None:
    clock = StillClock()
    request = charge(clock, consumer_byte_rate=100)
    assert request.fetched_bytes_max == 1000
    assert request.fetched(900)
    for _ in range(3):
        assert not request.fetched(200)
        assert request.end() == 1000
    clock.now += 11  # the windows are empty
    assert request.fetched(200)


def test_a_batch_larger_than_the_burst_is_sent_if_it_is_alone() -> None:
    clock = StillClock()
    request = charge(clock, consumer_byte_rate=100)
    assert request.fetched(5000)
    assert request.end() == 40_000
    assert not request.fetched(1)


def test_time_is_a_share_of_the_loop() -> None:
    clock = StillClock()
    request = charge(clock, request_percentage=10)  # a second of ten
    clock.now += 1.0
    assert request.end() == 0
    clock.now += 0.5
    request.encoded()
    assert request.end() == 1000  # 4 s, and never more than a window


def test_waiting_is_free() -> None:
    clock = StillClock()
    request = charge(clock, request_percentage=10)
    request.rest()
    clock.now += 3600
    request.resume()
    assert request.end() == 0


def test_the_steps_of_a_coroutine_count_and_its_waits_do_not() -> None:
    clock = StillClock()
    request = charge(clock, request_percentage=10)

    async def handler() -> str:
        clock.now += 0.6
        await asyncio.sleep(0)
        clock.now += 0.6
        return "done"

    async def meanwhile() -> None:
        clock.now += 100

    async def life() -> str:
        request.rest()
        task = asyncio.ensure_future(Timed(handler(), request))
        other = asyncio.ensure_future(meanwhile())
        await other
        return await task

    assert asyncio.run(life()) == "done"
    request.resume()
    assert request.end() == 1000  # 12 % of ten seconds


def test_a_coroutine_that_fails_or_is_cancelled_ends_as_without_a_quota() -> None:
    request = charge(StillClock(), request_percentage=10)
    seen = []

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("no")

    async def waits() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def life() -> None:
        with pytest.raises(ValueError, match="no"):
            await Timed(fails(), request)
        task = asyncio.ensure_future(Timed(waits(), request))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(life())
    assert seen == ["cancelled"]


def services(authorizer: Authorizer | None = None) -> Any:
    quotas = client_quotas(producer_byte_rate=1)
    return SimpleNamespace(throttle=quotas, inter_broker_listener="BROKERS", authorizer=authorizer)


def is_charged(given: Any, listener: str, api_key: int, version: int = 0, principal: str = "User:a") -> bool:
    connection = ClientConnection("192.0.2.1", 5555, listener)
    connection.principal = principal
    return charge_of(given, connection, "app", api_key, version=version, request_bytes=10) is not None


@pytest.mark.parametrize(
    ("api_key", "version"),
    [
        (ApiKey.BROKER_HEARTBEAT, 0),
        (ApiKey.FORWARD, 0),
        (ApiKey.WRITE_TXN_MARKERS, 1),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 5),
    ],
)
def test_brokers_are_not_charged(api_key: int, version: int) -> None:
    assert not is_charged(services(), "BROKERS", api_key, version)
    assert is_charged(services(), "CLIENTS", api_key, version)


def test_clients_on_the_listener_of_brokers_are_charged() -> None:
    assert is_charged(services(), "BROKERS", ApiKey.PRODUCE)
    assert is_charged(services(), "BROKERS", ApiKey.ADD_PARTITIONS_TO_TXN, 3)


def test_principals_that_may_act_as_brokers_are_not_charged_on_their_listener() -> None:
    given = services(Authorizer(["User:broker"]))
    assert not is_charged(given, "BROKERS", ApiKey.PRODUCE, principal="User:broker")
    assert is_charged(given, "CLIENTS", ApiKey.PRODUCE, principal="User:broker")
    assert is_charged(given, "BROKERS", ApiKey.PRODUCE, principal="User:alice")


def test_a_client_without_a_quota_is_not_charged() -> None:
    given = services()
    given.throttle.follow({QuotaEntity(user="bob"): {QuotaKey.PRODUCER_BYTE_RATE: 1.0}})
    assert not is_charged(given, "CLIENTS", ApiKey.PRODUCE)
    assert is_charged(given, "CLIENTS", ApiKey.PRODUCE, principal="User:bob")


def test_a_client_that_is_not_authenticated_yet_is_not_charged() -> None:
    """Strangers must not use up a quota that all of them would share."""
    given, connection = services(), ClientConnection("192.0.2.1", 5555, "CLIENTS")
    gate: Any = SimpleNamespace(is_open=False)
    connection.gate = gate
    charge = charge_of(given, connection, "app", ApiKey.API_VERSIONS, version=3, request_bytes=10)
    assert charge is None
    gate.is_open = True
    assert charge_of(given, connection, "app", ApiKey.API_VERSIONS, version=3, request_bytes=10) is not None
