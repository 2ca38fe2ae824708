"""An administrator that makes and deletes topics all the time, and remembers what it was promised."""

import asyncio

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.clients.client import ERRORS, Client
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

CREATE_TOPICS_VERSION = 7
DELETE_TOPICS_VERSION = 6
LIVING_MAX = 6

MAY_HAVE_HAPPENED = {
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.TOPIC_ALREADY_EXISTS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


class TopicChurn:
    def __init__(self, loop: SimLoop, client: Client, replicas: int) -> None:
        self._loop = loop
        self._client = client
        self._replicas = replicas
        self._made = 0
        self.present: dict[str, None] = {}
        """Topics that must be there."""
        self.absent: dict[str, None] = {}
        """Topics that must not."""
        self.complaints: list[str] = []
        self.is_stopping = False

    async def run(self) -> None:
        while not self.is_stopping:
            await asyncio.sleep(self._client.chance.uniform(0.05, 0.6))
            if len(self.present) >= LIVING_MAX or (self.present and self._client.chance.random() < 0.3):
                await self._delete(self._client.chance.choice(list(self.present)))
            else:
                await self._create()

    async def _create(self) -> None:
        self._made += 1
        name = f"{self._client.name}-{self._made}"
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=self._replicas)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=1_000)
        try:
            answer = await self._client.call_any(ApiKey.CREATE_TOPICS, CREATE_TOPICS_VERSION, request, 2.0)
        except OSError:
            return
        code = ERRORS[answer.topics[0].error_code]
        if code is ErrorCode.NONE:
            self.present[name] = None
        elif code not in MAY_HAVE_HAPPENED:
            self.absent[name] = None

    async def _delete(self, name: str) -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1_000)
        del self.present[name]  # until its fate is clear
        try:
            answer = await self._client.call_any(ApiKey.DELETE_TOPICS, DELETE_TOPICS_VERSION, request, 2.0)
        except OSError:
            return
        code = ERRORS[answer.responses[0].error_code]
        # A broker that passes it on may have to ask twice, and hears then that the topic is gone.
        if code in {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}:
            self.absent[name] = None

    def compare(self, topics: dict[str, object]) -> None:
        """With what the healed cluster has."""
        for name in self.present:
            if name not in topics:
                self.complaints.append(f"the creation of {name} was acknowledged, and it is not there")
        for name in self.absent:
            if name in topics:
                self.complaints.append(f"{name} was deleted or never made, and it is there")
