"""All coordinators of this broker: registered once, then started, moved and closed together."""

from collections.abc import Iterator
from typing import Any, TypeVar

from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.coordinators.internal_topics import InternalTopics
from tidelog.broker.coordinators.runtime.registration import Registration
from tidelog.broker.coordinators.runtime.service import CoordinatorService
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.coordination.shard import Shard

ShardT = TypeVar("ShardT", bound=Shard)


class CoordinatorRuntime:
    def __init__(
        self,
        metadata: MetadataService,
        partitions: HostedPartitions,
        internal_topics: InternalTopics,
        *,
        clock: Clock,
        run_in_thread: RunInThread,
    ) -> None:
        self.metadata = metadata
        self._partitions = partitions
        self._internal_topics = internal_topics
        self._clock = clock
        self._run_in_thread = run_in_thread
        self._services: list[CoordinatorService[Any]] = []

    def register(self, registration: Registration[ShardT]) -> CoordinatorService[ShardT]:
        service = CoordinatorService(
            registration,
            self.metadata,
            self._partitions,
            self._internal_topics,
            clock=self._clock,
            run_in_thread=self._run_in_thread,
        )
        self._services.append(service)
        return service

    def by_key_type(self, key_type: int) -> CoordinatorService[Any] | None:
        """Returns the coordinator that FindCoordinator asks for by this number."""
        return next((one for one in self._services if one.registration.key_type == key_type), None)

    def start(self) -> None:
        """The broker knows its cluster: load what it leads already."""
        for service in self._services:
            service.start()

    def __iter__(self) -> Iterator[CoordinatorService[Any]]:
        """In the order of registration, in which they also hear of changes of the metadata."""
        return iter(self._services)

    async def close(self) -> None:
        for service in self._services:
            await service.close()
