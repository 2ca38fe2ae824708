"""The cluster's metadata as handlers use it: read the image at any time, change it one decision at a time.

A change is decided on the newest image, made durable, applied, and only then acted on and answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from tidelog.base.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.base.ids import NodeId, Offset
from tidelog.base.ports import Clock
from tidelog.broker.flusher import RunInThread
from tidelog.metadata.decision import Decision, Outcome
from tidelog.metadata.entities import BrokerImage, PartitionImage
from tidelog.metadata.image import ClusterImage, ImageDelta
from tidelog.metadata.log import MetadataLog
from tidelog.metadata.records import Endpoint

T = TypeVar("T")
Listener = Callable[[ImageDelta], Awaitable[None] | None]

log = logging.getLogger("tidelog.broker.metadata")


class MetadataService:
    def __init__(
        self,
        metadata_log: MetadataLog,
        static_config: BrokerConfig,
        node_id: NodeId,
        clock: Clock,
        run_in_thread: RunInThread,
    ) -> None:
        self.node_id = node_id
        self._log = metadata_log
        self._static_config = static_config
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._one_at_a_time = asyncio.Lock()
        self._listeners: list[Listener] = []
        self.config = static_config
        self._refresh_config()

    @property
    def image(self) -> ClusterImage:
        return self._log.image

    @property
    def version(self) -> Offset:
        """Grows with every change, and over restarts."""
        return self._log.end

    @property
    def controller_id(self) -> NodeId:
        """A quorum of one: this broker decides."""
        return self.node_id

    def reachable_brokers(self, listener: str) -> list[tuple[BrokerImage, Endpoint]]:
        """Brokers with the address that a client of `listener` should use for each."""
        return [
            (broker, broker.endpoints[listener])
            for broker in self.image.brokers.values()
            if listener in broker.endpoints
        ]

    def offline_replicas(self, partition: PartitionImage) -> list[NodeId]:
        brokers = self.image.brokers
        return [id for id in partition.replicas if id not in brokers or brokers[id].fenced]

    def on_change(self, listener: Listener) -> None:
        """Listeners run on the loop, in the order they came, before the change is answered."""
        self._listeners.append(listener)

    async def change(self, decide: Callable[[ClusterImage], Decision[T]]) -> Sequence[T]:
        async with self._one_at_a_time:
            decision = decide(self.image)
            if decision.records:
                try:
                    commit = self._log.stage(decision.records, self._clock.now_ms())
                    await self._run_in_thread(commit.run)
                    delta = self._log.apply(commit)
                except TidelogError as error:
                    log.error("the cluster's metadata cannot be changed: %s", error)
                    return [_refused(result, error) for result in decision.results]
                await self._tell(delta)
            return decision.results

    def change_at_start(self, decide: Callable[[ClusterImage], Decision[T]]) -> Sequence[T]:
        """Before requests are served the disk may block, and nobody listens yet."""
        decision = decide(self.image)
        if decision.records:
            commit = self._log.stage(decision.records, self._clock.now_ms())
            commit.run()
            self._log.apply(commit)
        return decision.results

    async def _tell(self, delta: ImageDelta) -> None:
        if delta.after.broker_configs is not delta.before.broker_configs:
            self._refresh_config()
        for listener in self._listeners:
            try:
                acting = listener(delta)
                if acting is not None:
                    await acting
            except Exception:  # the change holds, and the others must hear of it all the same
                log.exception("a change of the cluster's metadata could not be acted on in full")

    def _refresh_config(self) -> None:
        configs = self.image.broker_configs
        self.config = self._static_config.with_dynamic(
            cluster=configs.get("", {}),
            broker=configs.get(str(self.node_id), {}),
            on_problem=lambda problem: log.error("a stored setting is ignored: %s", problem),
        )


def _refused(result: T, error: TidelogError) -> T:
    """An item that was decided but could not be written was not done."""
    if not isinstance(result, Outcome):
        raise error
    if not result.ok:
        return result
    code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
    return msgspec.structs.replace(result, error=code, message=str(error))
