"""The topics that brokers keep their own state in: created when somebody first needs them, replicated."""

from collections.abc import Mapping

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.requests.forwarding import Forwarding
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

AS_THE_CLUSTER = -1
REPLICAS = 3
CREATE_VERSION = 7
CREATE_TIMEOUT_MS = 30_000


class InternalTopics:
    def __init__(self, metadata: MetadataService, forwarding: Forwarding) -> None:
        self._metadata = metadata
        self._forwarding = forwarding

    async def create(
        self, name: str, *, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        """KafkaError(COORDINATOR_NOT_AVAILABLE) where it cannot be created now; clients ask again."""
        if replication_factor == AS_THE_CLUSTER:
            replication_factor = self.usual_factor()
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=replication_factor,
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
                )
            ],
            timeout_ms=CREATE_TIMEOUT_MS,
        )
        try:
            answer: CreateTopicsResponse = await self._forwarding.ask_controller(
                ApiKey.CREATE_TOPICS, CREATE_VERSION, request
            )
        except OSError as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from error
        [made] = answer.topics
        if made.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, made.error_message or "")

    def usual_factor(self) -> int:
        """Three, or as many as the cluster has; brokers that vote belong to it even before they are up."""
        voters = len(self._metadata.quorum.raft.configuration.voters)
        return max(1, min(REPLICAS, max(voters, len(self._metadata.image.brokers))))
