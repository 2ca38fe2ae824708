"""Topics, their settings, and where they are."""

from tests.rigs.sample_requests.sample import GROUP, NEW_TOPIC, TOPIC, Sample
from tidelog.broker.requests.config_resources import BROKER, CLIENT_METRICS
from tidelog.broker.requests.config_resources import GROUP as GROUP_TYPE
from tidelog.broker.requests.config_resources import TOPIC as TOPIC_TYPE
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from tidelog.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from tidelog.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from tidelog.wire.messages.elect_leaders import ElectLeadersRequest
from tidelog.wire.messages.incremental_alter_configs import (
    AlterConfigsResource as IncrementalResource,
)
from tidelog.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
)
from tidelog.wire.messages.list_config_resources import ListConfigResourcesRequest
from tidelog.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

RESOURCES = [(TOPIC_TYPE, TOPIC), (GROUP_TYPE, GROUP), (BROKER, "1"), (CLIENT_METRICS, "latencies")]


def _metadata(name: str, **options: bool) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name)], **options)


SAMPLES = [
    Sample(ApiKey.METADATA, _metadata(TOPIC, include_topic_authorized_operations=True), what="of a topic"),
    Sample(
        ApiKey.METADATA,
        _metadata(NEW_TOPIC, allow_auto_topic_creation=True),
        what="of a topic that it creates",
    ),
    Sample(ApiKey.METADATA, MetadataRequest(topics=None), hides=True, what="of all topics"),
    Sample(
        ApiKey.METADATA,
        MetadataRequest(topics=[], include_cluster_authorized_operations=True),
        version=10,
        hides=True,
        what="of the cluster",
    ),
    Sample(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        DescribeTopicPartitionsRequest(topics=[TopicRequest(name=TOPIC)]),
        what="of a topic",
    ),
    Sample(
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        DescribeTopicPartitionsRequest(topics=[]),
        hides=True,
        what="of all topics",
    ),
    Sample(
        ApiKey.CREATE_TOPICS,
        CreateTopicsRequest(
            topics=[CreatableTopic(name=NEW_TOPIC, num_partitions=1, replication_factor=1)], timeout_ms=1000
        ),
    ),
    Sample(
        ApiKey.DELETE_TOPICS,
        DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)], timeout_ms=1000),
    ),
    Sample(
        ApiKey.CREATE_PARTITIONS,
        CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=TOPIC, count=2, assignments=None)], timeout_ms=1000
        ),
    ),
    Sample(ApiKey.ELECT_LEADERS, ElectLeadersRequest(topic_partitions=None, timeout_ms=1000)),
    Sample(ApiKey.ALTER_PARTITION_REASSIGNMENTS, AlterPartitionReassignmentsRequest()),
    Sample(ApiKey.LIST_PARTITION_REASSIGNMENTS, ListPartitionReassignmentsRequest(topics=None)),
    *(
        Sample(
            ApiKey.DESCRIBE_CONFIGS,
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
                ]
            ),
            what=f"of {name}",
        )
        for kind, name in RESOURCES
    ),
    *(
        Sample(
            ApiKey.ALTER_CONFIGS,
            AlterConfigsRequest(
                resources=[AlterConfigsResource(resource_type=kind, resource_name=name)], validate_only=True
            ),
            what=f"of {name}",
        )
        for kind, name in RESOURCES
    ),
    *(
        Sample(
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            IncrementalAlterConfigsRequest(
                resources=[IncrementalResource(resource_type=kind, resource_name=name)], validate_only=True
            ),
            what=f"of {name}",
        )
        for kind, name in RESOURCES
    ),
    Sample(ApiKey.LIST_CONFIG_RESOURCES, ListConfigResourcesRequest()),
]
