"""StreamsGroupHeartbeat at the broker: what it asks of the cluster, and of the controller."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs import virtual_time
from tidelog.base.errors import ErrorCode
from tidelog.broker.coordinators.streams_topics import create_missing
from tidelog.broker.handlers.groups import streams_group_describe, streams_group_heartbeat
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.groups.streams.messages import InternalTopic
from tidelog.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from tidelog.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from tidelog.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, TaskIds, TaskOffset

MISSING = [InternalTopic("words", 3), InternalTopic("counts", 3, 2, (("cleanup.policy", "compact"),))]


def context(**features: int) -> Context:
    levels = {name.replace("_", "."): level for name, level in features.items()}
    metadata = SimpleNamespace(image=SimpleNamespace(features=levels))
    services: Any = SimpleNamespace(metadata=metadata, authorizer=None)
    return Context(services, ClientConnection("localhost", 1, "PLAINTEXT"), 0, "app")


def test_a_cluster_that_does_not_use_streams_groups_refuses_them() -> None:
    beat = StreamsGroupHeartbeatRequest(group_id="g", member_id="m")
    answer = asyncio.run(streams_group_heartbeat.handle(context(streams_version=0), beat))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "streams.version" in (answer.error_message or "")
    request = StreamsGroupDescribeRequest(group_ids=["g"])
    described = asyncio.run(streams_group_describe.handle(context(), request))
    assert [group.error_code for group in described.groups] == [ErrorCode.UNSUPPORTED_VERSION]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"active_tasks": [TaskIds("0", [1])]}, "all must be non-null"),
        ({"task_offsets": [TaskOffset("0", 1, 2)]}, "TaskOffsets"),
    ],
)
def test_what_kafka_does_not_take_either(fields: dict[str, Any], words: str) -> None:
    beat = StreamsGroupHeartbeatRequest(group_id="g", member_id="m", **fields)
    answer = asyncio.run(streams_group_heartbeat.handle(context(streams_version=1), beat))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert words in (answer.error_message or "")


class Controller:
    """Answers a CreateTopics with these errors, or not at all."""

    def __init__(self, *errors: ErrorCode, seconds: float = 0) -> None:
        self._errors, self._seconds = errors, seconds
        self.asked: Any = None

    async def ask_controller(self, _api: int, _version: int, request: Any) -> CreateTopicsResponse:
        self.asked = request
        await asyncio.sleep(self._seconds)
        results = zip(request.topics, self._errors, strict=True)
        return CreateTopicsResponse(
            topics=[CreatableTopicResult(name=one.name, error_code=code) for one, code in results]
        )


def create(controller: Controller) -> list[str]:
    services: Any = SimpleNamespace(forwarding=controller)
    return virtual_time.run(create_missing(services, MISSING))


def test_missing_topics_are_created_as_the_topology_wants_them() -> None:
    controller = Controller(ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    assert create(controller) == []
    words, counts = controller.asked.topics
    assert (words.name, words.num_partitions, words.replication_factor) == ("words", 3, -1)
    assert (counts.replication_factor, counts.configs[0].name) == (2, "cleanup.policy")


def test_why_a_topic_could_not_be_created() -> None:
    [failure] = create(Controller(ErrorCode.NONE, ErrorCode.INVALID_REPLICATION_FACTOR))
    assert failure.startswith("counts (")


def test_a_heartbeat_does_not_wait_for_ever() -> None:
    [failure] = create(Controller(seconds=60))
    assert "the controller did not answer" in failure
