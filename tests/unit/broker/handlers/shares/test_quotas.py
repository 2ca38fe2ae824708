"""A client beyond its quota gets no records of a share group, since acquired ones could not be given back."""

from tests.rigs import virtual_time
from tests.rigs.quotas import StillClock, client_quotas
from tests.rigs.shares import ShareRig, values_in
from tidelog.broker.security.request_charge import RequestCharge


def test_records_count_and_a_client_beyond_its_quota_waits_for_the_next() -> None:
    async def run() -> None:
        rig = ShareRig()
        rig.produce(b"x" * 900)
        rig.produce(b"y" * 900)
        clock = StillClock()
        quotas = client_quotas(clock, windows=2, consumer_byte_rate=500.0)
        limits = quotas.limits_of("User:anna", "test")
        anna = rig.worker("anna")

        async def take() -> tuple[list[bytes | None], int]:
            anna.context.charge = charge = RequestCharge(quotas, limits)
            answer = await anna.take(max_wait_ms=100)
            return [value[:1] for value in values_in(answer) if value is not None], charge.throttle_ms

        values, throttle_ms = await take()
        assert values == [b"x"]  # the burst has no room for both
        assert throttle_ms > 0
        values, throttle_ms = await take()
        assert values == []
        assert throttle_ms > 0
        assert [led.share.acquired for led in rig.shares] == [1], "what is not sent is not acquired"
        clock.now += 60
        assert (await take())[0] == [b"y"]

    virtual_time.run(run())
