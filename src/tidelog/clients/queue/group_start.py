"""Where a new group begins: `share.auto.offset.reset` of a group that has no value of its own is set.

Kafka's default is `latest`, with which the jobs that were sent before the first worker came would never be
done. The setting counts when a group reads a partition for the first time; an old group goes on where it is.
"""

from tidelog.base.config.values import ConfigSource
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.cluster import Cluster
from tidelog.clients.log import LOG
from tidelog.wire.messages import describe_configs, incremental_alter_configs
from tidelog.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from tidelog.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

NAME = "share.auto.offset.reset"
GROUP_RESOURCE = 32
SET = 0


def set_group_start(cluster: Cluster, group_id: str, start: str) -> None:
    """Logs a warning where the client may not: the group then begins where the brokers say."""
    try:
        if not _has_value(cluster, group_id):
            _set(cluster, group_id, start)
    except KafkaError as error:
        LOG.warning(
            "group %s: %s was not set to %s, so a new group begins where the brokers' setting says: %s. "
            "Set it with an administrator's rights, or pass auto_offset_reset=None.",
            group_id, NAME, start, error,
        )  # fmt: skip


def _has_value(cluster: Cluster, group_id: str) -> bool:
    resource = describe_configs.DescribeConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=group_id, configuration_keys=[NAME]
    )
    answer: DescribeConfigsResponse = cluster.call_any(DescribeConfigsRequest(resources=[resource]))
    for result in answer.results:
        _check(result.error_code, result.error_message)
        for config in result.configs:
            if config.name == NAME:
                return config.config_source == ConfigSource.DYNAMIC_GROUP_CONFIG
    return False


def _set(cluster: Cluster, group_id: str, start: str) -> None:
    change = incremental_alter_configs.AlterConfigsResource(
        resource_type=GROUP_RESOURCE,
        resource_name=group_id,
        configs=[incremental_alter_configs.AlterableConfig(name=NAME, config_operation=SET, value=start)],
    )
    answer: IncrementalAlterConfigsResponse = cluster.call_any(
        IncrementalAlterConfigsRequest(resources=[change])
    )
    for result in answer.responses:
        _check(result.error_code, result.error_message)


def _check(code: int, message: str | None) -> None:
    if code:
        raise KafkaError(ErrorCode.of(code), message)
