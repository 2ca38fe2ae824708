"""A small client of the wire protocol itself: whom to ask for what, and asking again.

It lives in the simulated network, knows only what brokers tell it, and forgets nothing newer for something
older: metadata from a broker that lags behind does not turn it back.
"""

import asyncio
import random
from typing import Any, NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.network.network import SimConnection, SimNodeNetwork
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response, write_request
from tidelog.wire.message import Message
from tidelog.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

METADATA_VERSION = 12
CREATE_TOPICS_VERSION = 7
RETRY_SECONDS = 0.1

Address = tuple[str, int]

ERRORS = {int(code): code for code in ErrorCode}


class Led(NamedTuple):
    """Who leads a partition, as far as the client knows."""

    leader: int
    epoch: int


class Client:
    def __init__(
        self, name: str, network: SimNodeNetwork, bootstrap: list[Address], chance: random.Random
    ) -> None:
        self.name = name
        self.chance = chance
        self._network = network
        self._bootstrap = bootstrap
        self._connections: dict[Address, SimConnection] = {}
        self._last_correlation = 0
        self.brokers: dict[int, Address] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.leaders: dict[tuple[str, int], Led] = {}
        self.last_problem = ""

    # Asking

    async def call(
        self, address: Address, api_key: ApiKey, version: int, request: Message, seconds: float
    ) -> Any:
        """One attempt; OSError (TimeoutError too) where no answer came."""
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = self._network.connect(*address)
        self._last_correlation += 1
        frame = write_request(api_key, version, self._last_correlation, self.name, request)
        try:
            async with asyncio.timeout(seconds):
                answer = await connection.call(frame)  # type: ignore[arg-type]  # requests hold no file slices
        except TimeoutError:
            # An answer that comes late must not stand in the way of the next one.
            if self._connections.get(address) is connection:
                del self._connections[address]
            connection.close()
            raise
        return read_response(api_key, version, answer)[1]

    def post(self, address: Address, api_key: ApiKey, version: int, request: Message) -> None:
        """Without an answer."""
        connection = self._connections.get(address)
        if connection is None:
            connection = self._connections[address] = self._network.connect(*address)
        self._last_correlation += 1
        frame = write_request(api_key, version, self._last_correlation, self.name, request)
        connection.post(frame)  # type: ignore[arg-type]

    async def call_any(self, api_key: ApiKey, version: int, request: Message, seconds: float = 1.0) -> Any:
        return await self.call(self.any_broker(), api_key, version, request, seconds)

    def any_broker(self) -> Address:
        return self.chance.choice(self._bootstrap)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # Metadata

    async def refresh(self, topics: list[str]) -> None:
        """Ask any broker who leads what; quiet where none answers."""
        wanted = [MetadataRequestTopic(name=topic) for topic in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        try:
            answer: MetadataResponse = await self.call_any(ApiKey.METADATA, METADATA_VERSION, request)
        except OSError:
            return
        self.brokers.update({broker.node_id: (broker.host, broker.port) for broker in answer.brokers})
        for topic in answer.topics:
            if topic.error_code or topic.name is None:
                continue
            self.topic_ids[topic.name] = topic.topic_id
            for partition in topic.partitions:
                key = topic.name, partition.partition_index
                led = Led(partition.leader_id, partition.leader_epoch)
                current = self.leaders.get(key)
                if current is None or led.epoch >= current.epoch:
                    self.leaders[key] = led

    async def leader_of(self, topic: str, index: int) -> tuple[Address, Led] | None:
        """None where it has no leader, after one look."""
        led = self.leaders.get((topic, index))
        if led is None or led.leader not in self.brokers:
            await self.refresh([topic])
            led = self.leaders.get((topic, index))
        if led is None or led.leader not in self.brokers:
            return None
        return self.brokers[led.leader], led

    async def pause(self) -> None:
        await asyncio.sleep(RETRY_SECONDS * (0.5 + self.chance.random()))

    # Administration

    async def create_topic(
        self, name: str, *, partitions: int, replicas: int, configs: dict[str, str], seconds: float
    ) -> None:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=2_000)
        problem = "no broker answered"
        async with asyncio.timeout(seconds):
            while True:
                try:
                    answer = await self.call_any(ApiKey.CREATE_TOPICS, CREATE_TOPICS_VERSION, request, 3.0)
                    [result] = answer.topics
                    if result.error_code in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
                        return
                    problem = f"{ERRORS[result.error_code].name}: {result.error_message}"
                except OSError as error:
                    problem = repr(error)
                self.last_problem = f"topic {name} was not made: {problem}"
                await self.pause()
