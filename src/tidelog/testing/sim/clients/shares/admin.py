"""What an administrator of share groups asks for: settings of a group, and how far it has come."""

import asyncio

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.clients.client import ERRORS, Client
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

ALTER_VERSION, FIND_COORDINATOR_VERSION, DESCRIBE_VERSION = 1, 3, 1
GROUP_RESOURCE = 32

Place = tuple[str, int]


class ShareAdmin:
    def __init__(self, client: Client) -> None:
        self._client = client
        self.last_problem = ""

    async def set_group(self, group: str, settings: dict[str, str], seconds: float) -> None:
        """TimeoutError where no broker accepts it in time; `last_problem` says why."""
        configs = [AlterableConfig(name=name, value=value) for name, value in settings.items()]
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource])
        async with asyncio.timeout(seconds):
            while True:
                try:
                    answer = await self._client.call_any(
                        ApiKey.INCREMENTAL_ALTER_CONFIGS, ALTER_VERSION, request, 3.0
                    )
                    [result] = answer.responses
                    if result.error_code == ErrorCode.NONE:
                        return
                    problem = f"{ERRORS[result.error_code].name}: {result.error_message}"
                except OSError as error:
                    problem = repr(error)
                self.last_problem = f"settings of {group} were not accepted: {problem}"
                await self._client.pause()

    async def start_offsets(self, group: str, topics: dict[str, int]) -> dict[Place, int] | None:
        """None where the coordinator does not answer for all partitions."""
        try:
            found = await self._client.call_any(
                ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, FindCoordinatorRequest(key=group)
            )
            wanted = [
                DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=list(range(count)))
                for name, count in topics.items()
            ]
            request = DescribeShareGroupOffsetsRequest(
                groups=[DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=wanted)]
            )
            answer: DescribeShareGroupOffsetsResponse = await self._client.call(
                (found.host, found.port),
                ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
                DESCRIBE_VERSION,
                request,
                3.0,
            )
        except OSError as error:
            self.last_problem = repr(error)
            return None
        offsets: dict[Place, int] = {}
        for described in answer.groups:
            if described.error_code:
                self.last_problem = f"{ERRORS[described.error_code].name}: {described.error_message}"
                return None
            for topic in described.topics:
                for partition in topic.partitions:
                    if partition.error_code:
                        self.last_problem = f"{ERRORS[partition.error_code].name}: {partition.error_message}"
                        return None
                    offsets[topic.topic_name, partition.partition_index] = partition.start_offset
        return offsets
