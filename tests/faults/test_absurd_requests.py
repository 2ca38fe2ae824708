"""Well-formed requests that make no sense: answered with the protocol's code, soon, without a traceback."""

from collections.abc import Callable

import pytest

from tests.faults.log_calls import (
    batch,
    create_topic,
    produce,
)
from tests.faults.odd_requests import (
    MAX32,
    MAX64,
    MIN32,
    MIN64,
    TOPIC,
    E,
    alter,
    assigned,
    change,
    codes_of,
    delete_records,
    describe,
    epoch_end,
    grow,
    list_offsets,
    move,
    new_topic,
)
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.create_topics import (
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.wire.messages.describe_cluster import DescribeClusterRequest
from tidelog.wire.messages.fetch import FetchRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.init_producer_id import InitProducerIdRequest
from tidelog.wire.messages.list_config_resources import ListConfigResourcesRequest

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.fixture(scope="module")
def topic_id(broker: Broker) -> bytes:
    with RawClient(broker.port) as client:
        made = create_topic(client, TOPIC, 2)
        assert produce(client, TOPIC, batch(b"a", b"b", b"c")).error_code == E.NONE
        return made


Case = tuple[ApiKey, Callable[[], Message], set[ErrorCode]]
TOPIC_KIND, BROKER_KIND = 2, 4
NO_SUCH = {E.UNKNOWN_TOPIC_OR_PARTITION}
BAD_VALUE = {E.INVALID_CONFIG}

CASES: dict[str, Case] = {
    "create: 0 partitions": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(num_partitions=0),
        {E.INVALID_PARTITIONS},
    ),
    "create: -2 partitions": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(num_partitions=-2),
        {E.INVALID_PARTITIONS},
    ),
    "create: 2^31-1 partitions": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(num_partitions=MAX32),
        {E.INVALID_PARTITIONS, E.POLICY_VIOLATION},
    ),
    "create: 0 replicas": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(replication_factor=0),
        {E.INVALID_REPLICATION_FACTOR},
    ),
    "create: 3 replicas on one broker": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(replication_factor=3),
        {E.INVALID_REPLICATION_FACTOR},
    ),
    "create: 32767 replicas": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(replication_factor=32767),
        {E.INVALID_REPLICATION_FACTOR},
    ),
    "create: assigned to a stranger": (
        ApiKey.CREATE_TOPICS,
        lambda: assigned([77]),
        {E.INVALID_REPLICA_ASSIGNMENT},
    ),
    "create: assigned to nobody": (
        ApiKey.CREATE_TOPICS,
        lambda: assigned([]),
        {E.INVALID_REPLICA_ASSIGNMENT},
    ),
    "create: assigned twice": (
        ApiKey.CREATE_TOPICS,
        lambda: assigned([0, 0]),
        {E.INVALID_REPLICA_ASSIGNMENT},
    ),
    "create: partitions from -5": (
        ApiKey.CREATE_TOPICS,
        lambda: assigned([0], first=-5),
        {E.INVALID_REPLICA_ASSIGNMENT},
    ),
    "create: unknown setting": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(configs=[CreatableTopicConfig(name="no.such", value="1")]),
        BAD_VALUE,
    ),
    "create: setting without value": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(configs=[CreatableTopicConfig(name="retention.ms", value=None)]),
        BAD_VALUE,
    ),
    "create: setting out of bounds": (
        ApiKey.CREATE_TOPICS,
        lambda: new_topic(configs=[CreatableTopicConfig(name="segment.bytes", value="-7")]),
        BAD_VALUE,
    ),
    "create: exists": (ApiKey.CREATE_TOPICS, lambda: new_topic(TOPIC), {E.TOPIC_ALREADY_EXISTS}),
    "create: twice in a request": (
        ApiKey.CREATE_TOPICS,
        lambda: CreateTopicsRequest(topics=[*new_topic("twin").topics, *new_topic("twin").topics]),
        {E.INVALID_REQUEST},
    ),
    "grow: to 0": (ApiKey.CREATE_PARTITIONS, lambda: grow(TOPIC, 0), {E.INVALID_PARTITIONS}),
    "grow: to -1": (ApiKey.CREATE_PARTITIONS, lambda: grow(TOPIC, -1), {E.INVALID_PARTITIONS}),
    "grow: to what it is": (ApiKey.CREATE_PARTITIONS, lambda: grow(TOPIC, 2), {E.INVALID_PARTITIONS}),
    "grow: to 2^31-1": (
        ApiKey.CREATE_PARTITIONS,
        lambda: grow(TOPIC, MAX32),
        {E.INVALID_PARTITIONS, E.POLICY_VIOLATION},
    ),
    "grow: too many assignments": (
        ApiKey.CREATE_PARTITIONS,
        lambda: grow(TOPIC, 3, [[0], [0], [0]]),
        {E.INVALID_REPLICA_ASSIGNMENT},
    ),
    "grow: to a stranger": (
        ApiKey.CREATE_PARTITIONS,
        lambda: grow(TOPIC, 3, [[99]]),
        {E.INVALID_REPLICA_ASSIGNMENT},
    ),
    "delete records: above the end": (
        ApiKey.DELETE_RECORDS,
        lambda: delete_records(TOPIC, 0, 4),
        {E.OFFSET_OUT_OF_RANGE},
    ),
    "delete records: at 2^63-1": (
        ApiKey.DELETE_RECORDS,
        lambda: delete_records(TOPIC, 0, MAX64),
        {E.OFFSET_OUT_OF_RANGE},
    ),
    "delete records: at -2": (
        ApiKey.DELETE_RECORDS,
        lambda: delete_records(TOPIC, 0, -2),
        {E.OFFSET_OUT_OF_RANGE},
    ),
    "offsets: one partition twice": (
        ApiKey.LIST_OFFSETS,
        lambda: list_offsets(TOPIC, 0, 0),
        {E.NONE, E.INVALID_REQUEST},
    ),
    "offsets: epoch of the future": (
        ApiKey.LIST_OFFSETS,
        lambda: list_offsets(TOPIC, 0, epoch=MAX32),
        {E.UNKNOWN_LEADER_EPOCH},
    ),
    "offsets: time before time": (
        ApiKey.LIST_OFFSETS,
        lambda: list_offsets(TOPIC, 0, timestamp=MIN64),
        {E.NONE, E.UNSUPPORTED_VERSION, E.INVALID_REQUEST},
    ),
    "epoch: of the future": (
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        lambda: epoch_end(TOPIC, 0, current=MAX32),
        {E.UNKNOWN_LEADER_EPOCH},
    ),
    "epoch: -2^31": (ApiKey.OFFSET_FOR_LEADER_EPOCH, lambda: epoch_end(TOPIC, 0, epoch=MIN32), {E.NONE}),
    "epoch: 2^31-1": (ApiKey.OFFSET_FOR_LEADER_EPOCH, lambda: epoch_end(TOPIC, 0, epoch=MAX32), {E.NONE}),
    "configs: unknown kind": (ApiKey.DESCRIBE_CONFIGS, lambda: describe(99, "x"), {E.INVALID_REQUEST}),
    "configs: broker of another name": (
        ApiKey.DESCRIBE_CONFIGS,
        lambda: describe(BROKER_KIND, "77"),
        {E.INVALID_REQUEST, E.BROKER_NOT_AVAILABLE, E.UNKNOWN_SERVER_ERROR},
    ),
    "configs: broker without a number": (
        ApiKey.DESCRIBE_CONFIGS,
        lambda: describe(BROKER_KIND, "zero"),
        {E.INVALID_REQUEST},
    ),
    "alter: unknown kind": (ApiKey.ALTER_CONFIGS, lambda: alter(99, "x"), {E.INVALID_REQUEST}),
    "alter: unknown setting": (ApiKey.ALTER_CONFIGS, lambda: alter(2, TOPIC, no_such="1"), BAD_VALUE),
    "alter: broker without a number": (
        ApiKey.ALTER_CONFIGS,
        lambda: alter(BROKER_KIND, "²", log_retention_ms="1"),
        {E.INVALID_REQUEST},
    ),
    "alter: null": (
        ApiKey.ALTER_CONFIGS,
        lambda: alter(2, TOPIC, retention_ms=None),
        {E.INVALID_CONFIG, E.INVALID_REQUEST},
    ),
    "change: unknown operation": (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        lambda: change(2, TOPIC, ("retention.ms", 99, "1")),
        {E.INVALID_REQUEST, E.UNSUPPORTED_VERSION},
    ),
    "change: set without value": (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        lambda: change(2, TOPIC, ("retention.ms", 0, None)),
        {E.INVALID_REQUEST, E.INVALID_CONFIG},
    ),
    "change: append to a number": (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        lambda: change(2, TOPIC, ("retention.ms", 2, "1")),
        {E.INVALID_REQUEST, E.INVALID_CONFIG},
    ),
    "change: one setting twice": (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        lambda: change(2, TOPIC, ("retention.ms", 0, "1"), ("retention.ms", 0, "2")),
        {E.INVALID_REQUEST},
    ),
    "change: what cannot change": (
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        lambda: change(BROKER_KIND, "", ("log.dirs", 0, "/elsewhere")),
        {E.INVALID_REQUEST, E.INVALID_CONFIG},
    ),
    "move: to no log dir of ours": (
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        lambda: move("/elsewhere", TOPIC, 0),
        {E.LOG_DIR_NOT_FOUND},
    ),
    "move: to ..": (ApiKey.ALTER_REPLICA_LOG_DIRS, lambda: move("..", TOPIC, 0), {E.LOG_DIR_NOT_FOUND}),
    "coordinator: of a share group": (
        ApiKey.FIND_COORDINATOR,
        lambda: FindCoordinatorRequest(key_type=2, coordinator_keys=["g"]),
        {E.INVALID_REQUEST},
    ),
    "coordinator: of share groups": (
        ApiKey.FIND_COORDINATOR,
        lambda: FindCoordinatorRequest(key_type=2, coordinator_keys=["t"]),
        {E.INVALID_REQUEST},
    ),
    "coordinator: of an unknown kind": (
        ApiKey.FIND_COORDINATOR,
        lambda: FindCoordinatorRequest(key_type=77, coordinator_keys=["g"]),
        {E.INVALID_REQUEST},
    ),
    "coordinator: of nobody": (ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, {E.NONE}),
    "producer id: empty name": (
        ApiKey.INIT_PRODUCER_ID,
        lambda: InitProducerIdRequest(transactional_id=""),
        {E.INVALID_REQUEST},
    ),
    "producer id: a timeout from before": (
        ApiKey.INIT_PRODUCER_ID,
        lambda: InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=MIN32),
        {E.INVALID_TRANSACTION_TIMEOUT, E.NOT_COORDINATOR},
    ),
    "cluster: of controllers": (
        ApiKey.DESCRIBE_CLUSTER,
        lambda: DescribeClusterRequest(endpoint_type=2),
        {E.MISMATCHED_ENDPOINT_TYPE},
    ),
    "cluster: of what": (
        ApiKey.DESCRIBE_CLUSTER,
        lambda: DescribeClusterRequest(endpoint_type=-128),
        {E.UNSUPPORTED_ENDPOINT_TYPE},
    ),
    "resources: unknown": (
        ApiKey.LIST_CONFIG_RESOURCES,
        lambda: ListConfigResourcesRequest(resource_types=[-1, 99]),
        {E.UNSUPPORTED_VERSION},
    ),
    "fetch: session out of nowhere": (
        ApiKey.FETCH,
        lambda: FetchRequest(session_id=MAX32, session_epoch=MAX32),
        {E.FETCH_SESSION_ID_NOT_FOUND},
    ),
    "fetch: nothing": (ApiKey.FETCH, lambda: FetchRequest(max_wait_ms=MAX32, min_bytes=MAX32), {E.NONE}),
}


@pytest.mark.usefixtures("topic_id")
@pytest.mark.parametrize("case", CASES)
def test_answered_with_the_right_code(client: RawClient, case: str) -> None:
    key, make, wanted = CASES[case]
    answer = client.ask(key, make())
    assert set(codes_of(answer)) <= wanted, codes_of(answer)
    assert codes_of(answer), answer
