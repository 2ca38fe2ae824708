"""Levels of loggers: changed by the broker that is asked, for a principal that may alter the cluster."""

from typing import Any

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tidelog.base.errors import ErrorCode
from tidelog.broker.log_levels import logger_levels
from tidelog.broker.requests.config_resources import BROKER_LOGGER
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

LOGGER = "tidelog.broker.log_levels"


def change(broker: str, level: str) -> IncrementalAlterConfigsRequest:
    config = AlterableConfig(name=LOGGER, config_operation=0, value=level)
    resource = AlterConfigsResource(resource_type=BROKER_LOGGER, resource_name=broker, configs=[config])
    return IncrementalAlterConfigsRequest(resources=[resource])


def describe(broker: str) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(resource_type=BROKER_LOGGER, resource_name=broker)
    return DescribeConfigsRequest(resources=[resource])


def test_only_a_principal_that_may_alter_the_cluster_changes_levels() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        before = logger_levels()[LOGGER]
        for principal, broker, expected in (
            ("User:alice", "1", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
            (ADMIN, "7", ErrorCode.INVALID_REQUEST),
            (ADMIN, "", ErrorCode.INVALID_REQUEST),
        ):
            answer: Any = await cluster.ask(
                principal, ApiKey.INCREMENTAL_ALTER_CONFIGS, change(broker, "ERROR")
            )
            assert answer.responses[0].error_code == expected
            shown: Any = await cluster.ask(principal, ApiKey.DESCRIBE_CONFIGS, describe(broker))
            assert shown.results[0].error_code == expected
        assert logger_levels()[LOGGER] == before
        answer = await cluster.ask(ADMIN, ApiKey.INCREMENTAL_ALTER_CONFIGS, change("1", before))
        assert answer.responses[0].error_code == ErrorCode.NONE
        shown = await cluster.ask(ADMIN, ApiKey.DESCRIBE_CONFIGS, describe("1"))
        assert {entry.name: entry.value for entry in shown.results[0].configs}[LOGGER] == before

    with_cluster(life)
