"""The topics in which brokers keep their own state: replicated, created when a client first needs them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.requests.forwarding import Forwarding
from tidelog.metadata.topics.cordons import is_cordoned, open_brokers
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


@dataclass(frozen=True, slots=True)
class StateTopic:
    """How the topic of a coordinator is created."""

    partitions: int
    replication_factor: int
    configs: Callable[[int], Mapping[str, str]]
    """Gets the number of replicas that the topic will have."""


class InternalTopics:
    def __init__(self, metadata: MetadataService, forwarding: Forwarding) -> None:
        self._metadata = metadata
        self._forwarding = forwarding

    async def create(self, name: str, topic: StateTopic) -> None:
        """KafkaError(COORDINATOR_NOT_AVAILABLE) where it cannot be created now; clients ask again."""
        replicas = topic.replication_factor
        if replicas == AS_THE_CLUSTER:
            replicas = self._usual_factor()
        configs = topic.configs(replicas).items()
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name=name,
                    num_partitions=topic.partitions,
                    replication_factor=replicas,
                    configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
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
        [created] = answer.topics
        if created.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, created.error_message or "")

    def _usual_factor(self) -> int:
        """Returns three, or the number of machines in a smaller cluster. Voters belong to it even before they
        are up, and brokers that are being drained do not."""
        image = self._metadata.image
        voters = self._metadata.quorum.raft.configuration.voters
        staying = {self._machine_key(voter.id) for voter in voters if not is_cordoned(image, voter.id)}
        machines = {broker.machine_key for broker in open_brokers(image)}
        return max(1, min(REPLICAS, max(len(staying), len(machines))))

    def _machine_key(self, broker_id: NodeId) -> str | NodeId:
        broker = self._metadata.image.brokers.get(broker_id)
        return broker_id if broker is None else broker.machine_key
