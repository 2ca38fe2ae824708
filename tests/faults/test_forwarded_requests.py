"""What one broker passes on to the controller is carried out once, also when it arrives again, and late."""

from collections.abc import Iterator

import msgspec
import pytest

from tests.faults.node_thread import NodeThread
from tests.faults.odd_requests import E
from tests.faults.raw_client import RawClient, request_bytes
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response
from tidelog.wire.message import Message
from tidelog.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.forward import ForwardRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

pytestmark = pytest.mark.usefixtures("no_failures")

TOPIC = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
CREATE = ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[TOPIC], timeout_ms=5000)
GROW = (
    ApiKey.CREATE_PARTITIONS,
    CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=3)], timeout_ms=5000),
)
DELETE = (
    ApiKey.DELETE_TOPICS,
    DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=5000),
)


class Passing:
    """Passes requests on, in the name of the only broker that is registered."""

    def __init__(self, node: NodeThread, client: RawClient) -> None:
        self._client = client
        self._metadata = node.node.services.metadata
        self._next = 0

    def new(self, key: ApiKey, request: Message) -> ForwardRequest:
        me = self._metadata.image.brokers[self._metadata.node_id]
        self._next += 1
        return ForwardRequest(
            listener="PLAINTEXT",
            request_data=request_bytes(key, API[key].max_version, request)[4:],
            token=self._next.to_bytes(16, "big"),
            broker_id=me.id,
            incarnation=me.incarnation,
            number=self._next,
            term=self._metadata.term,
        )

    def ask(self, request: ForwardRequest) -> bytes:
        answer = self._client.ask(ApiKey.FORWARD, request)
        assert answer.error_code == E.NONE
        return bytes(answer.response_data)

    def error_of(self, request: ForwardRequest) -> int:
        """Of its only item."""
        key = ApiKey(int.from_bytes(request.request_data[:2], "big"))
        _, told = read_response(key, API[key].max_version, memoryview(self.ask(request)))
        [items] = [value for value in msgspec.structs.astuple(told) if isinstance(value, list)]
        return int(items[0].error_code)

    def partitions(self) -> int:
        """How many the topic has; 0 where it is not there."""
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)
        return len(self._client.ask(ApiKey.METADATA, wanted).topics[0].partitions)


@pytest.fixture
def passing() -> Iterator[Passing]:
    with NodeThread() as node, node.connect() as client:
        yield Passing(node, client)


def again(request: ForwardRequest) -> ForwardRequest:
    return msgspec.structs.replace(request, attempt=request.attempt + 1)


def test_a_request_that_comes_twice_is_answered_as_the_first_time(passing: Passing) -> None:
    """The first answer may be lost with a connection."""
    create = passing.new(*CREATE)
    first = passing.ask(create)
    assert passing.ask(again(create)) == first
    assert passing.error_of(passing.new(*CREATE)) == E.TOPIC_ALREADY_EXISTS
    delete = passing.new(*DELETE)
    assert passing.error_of(delete) == passing.error_of(again(delete)) == E.NONE


def test_a_request_that_comes_late_changes_nothing(passing: Passing) -> None:
    create, grow, delete = passing.new(*CREATE), passing.new(*GROW), passing.new(*DELETE)
    for request in (create, grow, delete):
        assert passing.error_of(request) == E.NONE
    passing.ask(again(create))
    assert passing.partitions() == 0, "deleted is deleted"
    assert passing.error_of(passing.new(*CREATE)) == E.NONE
    passing.ask(again(grow))
    assert passing.partitions() == 1, "another topic of that name"
    passing.ask(again(delete))
    assert passing.partitions() == 1


def test_the_next_controller_knows_what_an_earlier_try_made(passing: Passing) -> None:
    """Its own memory is empty: the topic's id tells."""
    create = passing.new(*CREATE)
    first = passing.ask(create)
    to_the_next = msgspec.structs.replace(again(create), number=passing.new(*CREATE).number)
    assert passing.ask(to_the_next) == first
