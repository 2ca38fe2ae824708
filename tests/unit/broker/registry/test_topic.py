"""`_schemas` belongs to the registry while it is served, and is a topic like any other while it is not."""

import json
from typing import Any

import pytest

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.config.values import ConfigSource
from tidelog.base.errors import ErrorCode
from tidelog.broker.registry import led
from tidelog.broker.registry.calls import Call
from tidelog.metadata.topics.names import SCHEMAS
from tidelog.registry.errors import RegistryCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.record import Record, write_batch

KEY = {"keytype": "CONFIG", "subject": None, "magic": 0}


def produce(value: dict[str, Any]) -> ProduceRequest:
    batch = write_batch([Record(0, 0, json.dumps(KEY).encode(), json.dumps(value).encode())])
    data = TopicProduceData(name=SCHEMAS, partition_data=[PartitionProduceData(index=0, records=batch)])
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])


async def produced(cluster: AuthorizedCluster) -> ErrorCode:
    answer = await cluster.ask(ADMIN, ApiKey.PRODUCE, produce({"compatibilityLevel": "FULL"}), 9)
    return ErrorCode.of(answer.responses[0].partition_responses[0].error_code)


async def configured(cluster: AuthorizedCluster, body: bytes = b"") -> Any:
    registry = cluster.services().registry
    assert registry is not None
    call = Call("PUT" if body else "GET", "/config", body=body, principal=ADMIN)
    life = cluster.machines[0].life
    answer = await cluster.loop.spawn(life, registry.call(call), name="a call")  # type: ignore[arg-type]
    return answer.status, json.loads(answer.body)


def test_clients_do_not_write_it_while_the_registry_is_served() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await configured(cluster, b'{"compatibility":"NONE"}')
        for _ in range(3):  # the short path, too
            assert await produced(cluster) is ErrorCode.INVALID_TOPIC_EXCEPTION
        partition = DeleteRecordsPartition(partition_index=0, offset=1)
        deleted = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=SCHEMAS, partitions=[partition])])
        answer = await cluster.ask(ADMIN, ApiKey.DELETE_RECORDS, deleted)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert await configured(cluster) == (200, {"compatibilityLevel": "NONE"})

    with_cluster(life, schema_registry_port="-1")


@pytest.mark.parametrize(("port", "is_there"), [("-1", False), ("0", True)])
def test_a_client_that_asks_for_it_creates_it_only_without_the_registry(port: str, is_there: bool) -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=SCHEMAS)], allow_auto_topic_creation=True)
        await cluster.ask(ADMIN, ApiKey.METADATA, wanted)
        assert (cluster.services().metadata.image.topic(SCHEMAS) is not None) is is_there

    with_cluster(life, schema_registry_port=port)


def test_a_registry_moves_in_by_copying_the_topic() -> None:
    """Written by a client while the registry is off; served after a restart with the port."""

    async def life(cluster: AuthorizedCluster) -> None:
        assert cluster.services().registry is None
        await cluster.create_topic(SCHEMAS)
        assert await produced(cluster) is ErrorCode.NONE
        machine = cluster.machines[0]
        machine.kill()
        static = machine.config.layers[ConfigSource.STATIC_BROKER_CONFIG]
        machine.config = BrokerConfig({**static, "schema.registry.port": -1})
        await cluster.start()
        assert await configured(cluster) == (200, {"compatibilityLevel": "FULL"})

    with_cluster(life, schema_registry_port="0", log_cleanup_policy="compact")


def test_a_record_that_is_too_large_is_refused_before_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(led, "RECORD_BYTES_MAX", 4096)

    async def life(cluster: AuthorizedCluster) -> None:
        registry = cluster.services().registry
        assert registry is not None
        schema = {"type": "record", "name": "R", "fields": [], "doc": "x" * 4096}
        body = json.dumps({"schema": json.dumps(schema)}).encode()
        call = Call("POST", "/subjects/large/versions", body=body, principal=ADMIN)
        life = cluster.machines[0].life
        await configured(cluster, b'{"compatibility":"NONE"}')
        answer = await cluster.loop.spawn(life, registry.call(call), name="a call")  # type: ignore[arg-type]
        assert json.loads(answer.body)["error_code"] == RegistryCode.SCHEMA_TOO_LARGE
        assert await configured(cluster) == (200, {"compatibilityLevel": "NONE"})

    with_cluster(life, schema_registry_port="-1")
