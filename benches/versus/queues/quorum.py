"""RabbitMQ with quorum queues on one node. They sync what they confirm."""

import asyncio

from benches.versus.queues.amqp import Channel
from benches.versus.rivals.rabbitmq import RabbitMq


class QuorumQueues(RabbitMq):
    name = "RabbitMQ quorum queues"

    @property
    def amqp_address(self) -> tuple[str, int]:
        return "127.0.0.1", self._amqp_port

    def new_topic(self, partitions: int = 1, replicas: int | None = None) -> str:
        self._topics += 1
        name = f"bench-{self._topics}"

        async def declare() -> None:
            channel = await Channel.open(self.amqp_address)
            await channel.declare(name)
            await channel.close()

        asyncio.run(declare())
        return name

    def delete_topic(self, name: str) -> None:
        async def delete() -> None:
            channel = await Channel.open(self.amqp_address)
            await channel.delete(name)
            await channel.close()

        asyncio.run(delete())
