"""Pushes of clients' metrics: what is taken, what is refused with which error, and what a scrape shows."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.otlp import counter, gauge, metrics_data, point
from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.client_metrics import WAITING_MAX, ClientMetrics
from tidelog.broker.handlers.telemetry.client_facts import facts_of
from tidelog.metrics.clients.subscription import ClientFacts
from tidelog.metrics.page import Page
from tidelog.metrics.text_format import text_of
from tidelog.wire.compression import Codec, compress

ORDERS = ClientFacts(bytes(range(16)), "orders-1", "librdkafka", "2.16.1", "192.0.2.1", 4711)
PUSHED = metrics_data(
    gauge("producer.latency", point(1.5, {"node_id": "1"})),
    counter("producer.creations", point(3)),
    gauge("other", point(1)),
)


class Rig:
    def __init__(self) -> None:
        self.seconds = 100.0
        self.image = SimpleNamespace(client_metrics={"s": {"metrics": "producer.", "interval.ms": "1000"}})
        self.settings: dict[str, Any] = {"telemetry.max.bytes": 200_000}
        self.metrics = ClientMetrics(self, self, self, self.run_in_thread)  # type: ignore[arg-type]
        self.in_threads = 0

    @property
    def config(self) -> BrokerConfig:
        return BrokerConfig(self.settings)

    def monotonic(self) -> float:
        return self.seconds

    def bytes(self, count: int) -> bytes:
        return bytes([int(self.seconds) % 256]) * count

    async def run_in_thread(self, work: Callable[[], Any]) -> Any:
        self.in_threads += 1
        return work()

    def subscribe(self, client: ClientFacts = ORDERS) -> int:
        return self.metrics.subscribe(client).subscription.id

    async def push(
        self, data: bytes = PUSHED, *, id: int | None = None, codec: int = 0, last: bool = False
    ) -> None:
        known = self.metrics.instances.of(ORDERS, int(self.seconds * 1000)).subscription.id
        await self.metrics.push(ORDERS, known if id is None else id, codec, data, is_terminating=last)

    async def refusal(self, *arguments: Any, **options: Any) -> ErrorCode:
        with pytest.raises(KafkaError) as caught:
            await self.push(*arguments, **options)
        return caught.value.code

    def shown(self) -> list[str]:
        page = Page()
        list(self.metrics.collect(page))
        lines = "".join(text_of(page, open_metrics=False)).splitlines()
        return [line for line in lines if not line.startswith("#")]


def with_rig(life: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await life(Rig())

    asyncio.run(main())


@pytest.mark.parametrize("codec", Codec)
def test_a_push_is_shown(codec: Codec) -> None:
    async def life(rig: Rig) -> None:
        rig.subscribe()
        await rig.push(compress(codec, PUSHED), codec=codec)
        shown = rig.shown()
        assert "tidelog_client_instances 1" in shown
        assert 'tidelog_client_telemetry_pushes_total{result="accepted"} 1' in shown
        samples = [line for line in shown if "client_metric" in line]
        assert len(samples) == 2, "what is not subscribed to is left out"
        assert samples[0].startswith('tidelog_client_metric{metric="producer.latency",client_id="orders-1"')
        assert 'node="1"' in samples[0]
        assert samples[1].startswith('tidelog_client_metric_total{metric="producer.creations"')

    with_rig(life)


def test_a_client_that_asks_too_often_waits() -> None:
    async def life(rig: Rig) -> None:
        rig.subscribe()
        with pytest.raises(KafkaError) as caught:
            rig.subscribe()
        assert caught.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        await rig.push()
        assert await rig.refusal() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        rig.seconds += 1
        await rig.push()
        assert 'tidelog_client_telemetry_pushes_total{result="throttled"} 1' in rig.shown()

    with_rig(life)


def test_what_is_refused() -> None:
    async def life(rig: Rig) -> None:
        async def refused(*arguments: Any, **options: Any) -> ErrorCode:
            rig.seconds += 1
            return await rig.refusal(*arguments, **options)

        assert await refused(id=12345) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        rig.subscribe()  # at once, since its subscription is unknown
        assert await refused(codec=9) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert await refused(codec=-1) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert await refused(b"x" * 200_001) is ErrorCode.TELEMETRY_TOO_LARGE
        assert (
            await refused(compress(Codec.ZSTD, bytes(800_001)), codec=Codec.ZSTD)
            is ErrorCode.TELEMETRY_TOO_LARGE
        )
        assert await refused(b"not otlp") is ErrorCode.INVALID_RECORD
        assert await refused(b"not zstd", codec=Codec.ZSTD) is ErrorCode.INVALID_RECORD
        for last in (0, 1):
            reserved = ORDERS._replace(instance_id=bytes(15) + bytes([last]))
            with pytest.raises(KafkaError) as caught:
                await rig.metrics.push(reserved, 0, 0, b"", is_terminating=False)
            assert caught.value.code is ErrorCode.INVALID_REQUEST
        assert len(rig.metrics.instances) == 1
        assert 'tidelog_client_telemetry_pushes_total{result="refused"} 9' in rig.shown()

    with_rig(life)


def test_a_terminating_push_comes_at_any_time_and_is_the_last() -> None:
    async def life(rig: Rig) -> None:
        rig.subscribe()
        await rig.push()
        await rig.push(last=True)
        rig.seconds += 1
        assert await rig.refusal() is ErrorCode.INVALID_REQUEST
        rig.seconds += 61
        assert "tidelog_client_instances 0" in rig.shown()

    with_rig(life)


def test_a_changed_subscription_is_unknown_to_the_client() -> None:
    async def life(rig: Rig) -> None:
        id = rig.subscribe()
        rig.image.client_metrics = {"s": {"metrics": "consumer.", "interval.ms": "1000"}}
        assert await rig.refusal(id=id) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        assert rig.subscribe() != id
        rig.seconds += 1
        await rig.push()

    with_rig(life)


def test_pushes_are_decompressed_on_a_thread_and_decoded_in_turns() -> None:
    many = metrics_data(gauge("producer.m", *(point(1.0, {"topic": f"t{n}"}) for n in range(5000))))

    async def life(rig: Rig) -> None:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.ensure_future(others())
        await rig.push(many[:0])
        rig.seconds += 1
        packed = compress(Codec.GZIP, many)
        assert len(packed) < 200_000
        await rig.push(packed, codec=Codec.GZIP)
        beside.cancel()
        assert rig.in_threads == 1
        assert turns > 20
        assert rig.metrics.instances.series == 5000

    with_rig(life)


def test_bytes_that_only_cost_time_are_refused() -> None:
    async def life(rig: Rig) -> None:
        junk = compress(Codec.ZSTD, b"\x48\x01" * 210_000)
        assert await rig.refusal(junk, codec=Codec.ZSTD) is ErrorCode.INVALID_RECORD

    with_rig(life)


def test_series_beyond_the_limit_are_counted() -> None:
    async def life(rig: Rig) -> None:
        rig.settings["metrics.clients.series.max"] = 1
        await rig.push()
        assert "tidelog_client_series_left_out_total 1" in rig.shown()
        assert "tidelog_client_series 1" in rig.shown()

    with_rig(life)


def test_points_beyond_the_limit_are_not_even_decoded_into_memory() -> None:
    many = metrics_data(gauge("producer.m", *(point(1.0, {"topic": f"t{n}"}) for n in range(100))))

    async def life(rig: Rig) -> None:
        instance = rig.metrics.subscribe(ORDERS)
        points, left_out = await rig.metrics._decode(instance, many, 3)
        assert (len(points), left_out) == (3, 97)

    with_rig(life)


def test_a_long_client_id_is_not_kept() -> None:
    connection = SimpleNamespace(software_name="n" * 9_000, software_version="v" * 9_000, host="h", port=1)
    context: Any = SimpleNamespace(client_id="c" * 30_000, connection=connection)
    facts = facts_of(context, bytes(16))
    assert [len(facts.client_id), len(facts.software_name), len(facts.software_version)] == [512] * 3


def test_a_flood_of_pushes_is_asked_to_come_back() -> None:
    async def life(rig: Rig) -> None:
        clients = [ORDERS._replace(instance_id=bytes([7, n]) * 8) for n in range(WAITING_MAX + 5)]
        ids = [rig.subscribe(client) for client in clients]
        done = await asyncio.gather(
            *(
                rig.metrics.push(client, id, 0, PUSHED, is_terminating=False)
                for client, id in zip(clients, ids, strict=True)
            ),
            return_exceptions=True,
        )
        refused = [one for one in done if isinstance(one, KafkaError)]
        assert [error.code for error in refused] == [ErrorCode.THROTTLING_QUOTA_EXCEEDED] * len(refused)
        assert len(refused) <= 5
        assert len(rig.metrics.instances) == WAITING_MAX + 5

    with_rig(life)
