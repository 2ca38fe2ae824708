"""Creates the topics that a streams application needs for itself: repartition topics and changelogs."""

import asyncio
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Services
from tidelog.groups.streams.messages import InternalTopic
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

CREATE_VERSION = 7
WAIT_SECONDS = 5.0
"""How long a heartbeat waits for them. The next one asks again where that was too short."""


async def create_missing(services: Services, topics: Sequence[InternalTopic]) -> list[str]:
    """Why some of them could not be created: a line for each."""
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=topic.name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs],
            )
            for topic in topics
        ],
        timeout_ms=round(WAIT_SECONDS * 1000),
    )
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            answer: CreateTopicsResponse = await services.forwarding.ask_controller(
                ApiKey.CREATE_TOPICS, CREATE_VERSION, request
            )
    except OSError as error:  # a timeout is one, too
        return [f"the controller did not answer: {str(error) or 'too slow'}"]
    fine = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)  # another member's heartbeat may have been first
    return [
        f"{topic.name} ({topic.error_message or topic.error_code})"
        for topic in answer.topics
        if topic.error_code not in fine
    ]
