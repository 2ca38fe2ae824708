"""Clients' own metrics at this broker (KIP-714): subscriptions out, pushes in, last values for scrapes.

Exists only while metrics are on; without it clients are not offered the two APIs, and never ask. Pushes are
decompressed and decoded one at a time, in turns of the event loop: metrics must not hold up records.
"""

import asyncio
import logging
from collections.abc import Iterator

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid, uuid_from_random
from tidelog.base.ports import Clock, Random
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.turns import in_turns
from tidelog.metrics.clients.instance import ClientInstance
from tidelog.metrics.clients.instances import ClientInstances
from tidelog.metrics.clients.labels import KeptPoint, kept
from tidelog.metrics.clients.otlp import data_points
from tidelog.metrics.clients.protobuf import BadProtobuf
from tidelog.metrics.clients.samples import add_samples
from tidelog.metrics.clients.subscription import ClientFacts
from tidelog.metrics.families.clients import INSTANCES, PUSHES, SERIES, SERIES_LEFT_OUT
from tidelog.metrics.page import Page
from tidelog.wire.compression import Codec, decompress

ACCEPTED_CODECS = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
"""As Kafka offers them: clients take the first that they know."""
EXPANSION_MAX = 4
"""A push may be this much larger than `telemetry.max.bytes` once it is decompressed."""
WAITING_MAX = 32
"""Pushes that wait for their turn; a further client is asked to come back after its interval."""
POINTS_PER_TURN = 25
STEPS_MAX = 200_000
"""Of reading one push: a few for each data point of an honest client."""
RESERVED_IDS = frozenset(bytes(15) + bytes([last]) for last in (0, 1, 2))

log = logging.getLogger("tidelog.broker")


class ClientMetrics:
    def __init__(
        self, metadata: MetadataService, clock: Clock, random: Random, run_in_thread: RunInThread
    ) -> None:
        self._metadata = metadata
        self._clock = clock
        self._random = random
        self._run_in_thread = run_in_thread
        self.instances = ClientInstances(lambda: metadata.image.client_metrics)
        self._pushes: dict[str, int] = {"accepted": 0, "refused": 0, "throttled": 0}
        self._left_out = 0
        self._waiting = 0
        self._one_at_a_time = asyncio.Lock()

    @property
    def bytes_max(self) -> int:
        return self._metadata.config.int("telemetry.max.bytes")

    def new_instance_id(self) -> Uuid:
        while (made := uuid_from_random(self._random.bytes(16))) in self.instances:
            pass
        return made

    def subscribe(self, client: ClientFacts) -> ClientInstance:
        """Returns the client's instance with its subscription; KafkaError where it asks too often."""
        now_ms = self._now_ms()
        instance = self.instances.of(client, now_ms)
        if not instance.may_ask(now_ms):
            raise _too_early()
        instance.error = ErrorCode.NONE
        return instance

    async def push(
        self, client: ClientFacts, subscription_id: int, codec: int, data: bytes, *, is_terminating: bool
    ) -> None:
        """Takes a client's metrics, or raises KafkaError."""
        if client.instance_id in RESERVED_IDS:
            self._pushes["refused"] += 1
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The client instance id is reserved.")
        instance = self.instances.of(client, self._now_ms())
        try:
            self._check(instance, subscription_id, codec, data, is_terminating)
            if data:
                await self._take(instance, codec, data)
        except KafkaError as error:
            is_early = error.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
            self._pushes["throttled" if is_early else "refused"] += 1
            instance.error = error.code
            raise
        finally:
            instance.is_terminating = is_terminating
        self._pushes["accepted"] += 1
        instance.error = ErrorCode.NONE

    def _check(
        self, instance: ClientInstance, subscription_id: int, codec: int, data: bytes, is_terminating: bool
    ) -> None:
        if instance.is_terminating:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The client's last push was its terminating one.")
        if not instance.may_push(self._now_ms()) and not is_terminating:
            raise _too_early()
        if subscription_id != instance.subscription.id:
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if codec not in set(Codec):
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression type {codec}")
        if len(data) > self.bytes_max:
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE)

    async def _take(self, instance: ClientInstance, codec: int, data: bytes) -> None:
        if self._waiting >= WAITING_MAX:
            raise _too_early()
        self._waiting += 1
        series_max = self._metadata.config.int("metrics.clients.series.max")
        try:
            async with self._one_at_a_time:
                points, left_out = await self._decode(
                    instance, await self._decompress(codec, data), series_max
                )
        except (BadProtobuf, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code is ErrorCode.MESSAGE_TOO_LARGE:
                raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE) from error
            log.info("client %s pushed metrics that cannot be read: %s", instance.client.client_id, error)
            raise KafkaError(ErrorCode.INVALID_RECORD) from error
        finally:
            self._waiting -= 1
        self._left_out += left_out + self.instances.take(instance, points, series_max)

    async def _decompress(self, codec: int, data: bytes) -> bytes:
        if codec == Codec.NONE:
            return bytes(data)
        limit = EXPANSION_MAX * self.bytes_max  # which a few KiB can grow to
        plain: bytes = await self._run_in_thread(lambda: decompress(codec, data, limit))
        return plain

    async def _decode(
        self, instance: ClientInstance, data: bytes, points_max: int
    ) -> tuple[list[KeptPoint], int]:
        """Returns the points that the client is to push, and how many were left out beyond the limit."""
        wants = instance.subscription.wants
        points: list[KeptPoint] = []
        steps = left_out = 0
        async for piece in in_turns(data_points(data), POINTS_PER_TURN):
            steps += len(piece)
            if steps > STEPS_MAX:
                raise BadProtobuf(f"more than {STEPS_MAX} fields around its data points")
            wanted = [point for point in piece if point is not None and wants(point.metric)]
            room = points_max - len(points)
            points += map(kept, wanted[:room])
            left_out += max(0, len(wanted) - room)
        return points, left_out

    def collect(self, page: Page) -> Iterator[None]:
        self.instances.expire(self._now_ms())
        page.add(INSTANCES, len(self.instances))
        page.add(SERIES, self.instances.series)
        page.add(SERIES_LEFT_OUT, self._left_out)
        for result, count in self._pushes.items():
            page.add(PUSHES, count, result)
        yield
        for instance in self.instances:
            yield from add_samples(page, instance)

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)


def _too_early() -> KafkaError:
    return KafkaError(
        ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The request came before the push interval was over."
    )
