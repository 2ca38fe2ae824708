"""The registry at work for one call: at the leader of `_schemas`, and before there is such a topic.

Both are `Leading`. Errors other than RegistryError pass through the API to the service, which tries again:
nothing was written, or it is not known whether it stays.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tidelog.broker.coordinators.runtime.registration import ANSWER_SECONDS
from tidelog.broker.registry.authorization import Authorization
from tidelog.broker.registry.coordinator import RECORD_BYTES_MAX, new_shard
from tidelog.broker.requests.context import Services
from tidelog.coordination.decision import ShardDecision
from tidelog.registry.errors import RegistryCode, RegistryError

if TYPE_CHECKING:
    from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
    from tidelog.broker.registry.workers import SchemaWorkers
    from tidelog.registry.preparing import Job, Prepared, Source
    from tidelog.registry.state.shard import RegistryShard

AnswerT = TypeVar("AnswerT")

BATCH_OVERHEAD_BYTES = 1024
SERVER_ERROR = 500


class NoTopicYet(Exception):
    """The first change of a cluster's registry: its topic has to be created, then the call starts again."""


class NotCommitted(Exception):
    """A change may be in the log of this broker, and it is not known whether the next leader has it."""


class _Registry:
    def __init__(self, services: Services, workers: "SchemaWorkers") -> None:
        self._services = services
        self._workers = workers
        self.authorization = Authorization(services)

    @property
    def cluster_id(self) -> str:
        return self._services.metadata.image.cluster_id

    async def prepare(self, job: "Job") -> "Prepared":
        return await self._workers.prepare(job)

    async def formatted(self, source: "Source", format: str) -> str:
        return await self._workers.formatted(source, format)

    async def record_names(self, source: "Source") -> list[str]:
        return await self._workers.record_names(source)


class EmptyRegistry(_Registry):
    """Before the first change there is no topic, and no leader of it: the registry is empty."""

    def __init__(self, services: Services, workers: "SchemaWorkers") -> None:
        super().__init__(services, workers)
        self.shard = new_shard()

    async def write(
        self, decide: "Callable[[RegistryShard], ShardDecision[AnswerT | RegistryError]]"
    ) -> AnswerT:
        decision = decide(self.shard)
        if decision.records:
            raise NoTopicYet
        answer = decision.if_committed
        if isinstance(answer, RegistryError):
            raise answer
        return answer


class LedRegistry(_Registry):
    def __init__(
        self, services: Services, workers: "SchemaWorkers", served: "ServedPartition[RegistryShard]"
    ) -> None:
        super().__init__(services, workers)
        self._served = served
        self.has_written = False
        """Whether a change of this call may be in the log."""

    @property
    def shard(self) -> "RegistryShard":
        return self._served.shard

    async def write(
        self, decide: "Callable[[RegistryShard], ShardDecision[AnswerT | RegistryError]]"
    ) -> AnswerT:
        if self._served.is_closed:
            raise NotCommitted
        decision = decide(self._served.shard)
        record_bytes = sum(len(key) + len(value or b"") for key, value in decision.records)
        if record_bytes > RECORD_BYTES_MAX - BATCH_OVERHEAD_BYTES:
            raise RegistryError(
                RegistryCode.SCHEMA_TOO_LARGE,
                f"The schema is a record of {record_bytes} bytes, and the topic takes {RECORD_BYTES_MAX}: "
                "split it, and refer to its parts by references",
            )
        self.has_written = self.has_written or bool(decision.records)
        answer = await self._served.run(decision, _same)
        if not isinstance(answer, RegistryError):
            return answer
        if answer.code.status >= SERVER_ERROR:
            raise NotCommitted from answer
        raise answer

    async def until_committed(self) -> None:
        """An answer may rest on changes of other calls, and goes out once the next leader has them, too.

        Replicas that are too few to commit may all be gone before the next leader: what they alone have is
        not answered, or an id could mean another schema later. What is committed they still serve. And a
        broker may have lost the lead during the call, and have it again: what its shard knew then is not what
        the log holds now.
        """
        looked = self._served.when_committed(lambda: True, lambda _: False)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                is_committed = looked if isinstance(looked, bool) else await looked
        except TimeoutError:
            is_committed = False
        if not is_committed or self._served.is_closed or self._may_be_replaced:
            raise NotCommitted

    @property
    def _may_be_replaced(self) -> bool:
        """Whether the controller may have taken this broker for dead, and another leader made changes."""
        services = self._services
        if len(services.metadata.image.brokers) == 1:
            return False
        config = services.config
        # The controller has seen a heartbeat some time before this broker has seen the answer.
        way = max(config.int("broker.heartbeat.interval.ms") / 1000, 1.0)
        alive_for = config.int("broker.session.timeout.ms") / 1000 - way
        heard_at = services.lifecycle.heard_at
        return heard_at is None or services.clock.monotonic() - heard_at > alive_for


def _same(answer: AnswerT) -> AnswerT:
    return answer
