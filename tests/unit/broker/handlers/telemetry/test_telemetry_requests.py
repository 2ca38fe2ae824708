"""GetTelemetrySubscriptions and PushTelemetry at a broker, with metrics on and off."""

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.otlp import gauge, metrics_data, point
from tidelog.base.errors import ErrorCode
from tidelog.broker.client_metrics import ClientMetrics
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.api_versions import ApiVersionsRequest
from tidelog.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from tidelog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.wire.messages.list_config_resources import ListConfigResourcesRequest
from tidelog.wire.messages.push_telemetry import PushTelemetryRequest

TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


async def offered(cluster: AuthorizedCluster) -> set[int]:
    answer = await cluster.ask(ADMIN, ApiKey.API_VERSIONS, ApiVersionsRequest(), 0)
    return {each.api_key for each in answer.api_keys}


def turn_on(cluster: AuthorizedCluster) -> ClientMetrics:
    services = cluster.services()
    services.client_metrics = made = ClientMetrics(
        services.metadata, services.clock, services.random, services.run_in_thread
    )
    return made


def test_clients_are_offered_to_push_only_while_metrics_are_on() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        assert not TELEMETRY & await offered(cluster)
        get = await cluster.ask(
            "User:a", ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, GetTelemetrySubscriptionsRequest(), 0
        )
        push = await cluster.ask("User:a", ApiKey.PUSH_TELEMETRY, PushTelemetryRequest(), 0)
        assert [get.error_code, push.error_code] == [ErrorCode.UNSUPPORTED_VERSION] * 2
        turn_on(cluster)
        assert await offered(cluster) >= TELEMETRY

    with_cluster(life)


def test_a_client_without_any_permission_subscribes_and_pushes() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        metrics = turn_on(cluster)
        settings = [
            AlterableConfig(name="metrics", value="m"),
            AlterableConfig(name="interval.ms", value="1000"),
        ]
        resource = AlterConfigsResource(resource_type=16, resource_name="s", configs=settings)
        request = IncrementalAlterConfigsRequest(resources=[resource])
        [altered] = (await cluster.ask(ADMIN, ApiKey.INCREMENTAL_ALTER_CONFIGS, request, 1)).responses
        assert not altered.error_code
        for version in (0, 1):
            asked = ListConfigResourcesRequest(resource_types=[16] if version else [])
            listed = await cluster.ask(ADMIN, ApiKey.LIST_CONFIG_RESOURCES, asked, version)
            assert [(one.resource_name, one.resource_type) for one in listed.config_resources] == [("s", 16)]
        get = await cluster.ask(
            "User:a", ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, GetTelemetrySubscriptionsRequest(), 0
        )
        assert (get.requested_metrics, get.push_interval_ms, get.error_code) == (["m"], 1000, 0)
        assert get.accepted_compression_types == [4, 3, 1, 2]
        assert not get.delta_temporality
        again = GetTelemetrySubscriptionsRequest(client_instance_id=get.client_instance_id)
        early = await cluster.ask("User:a", ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, again, 0)
        assert early.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        push = PushTelemetryRequest(
            client_instance_id=get.client_instance_id,
            subscription_id=get.subscription_id,
            metrics=metrics_data(gauge("m", point(1.0))),
        )
        assert (await cluster.ask("User:a", ApiKey.PUSH_TELEMETRY, push, 0)).error_code == 0
        assert metrics.instances.series == 1
        push.subscription_id += 1
        push.terminating = True
        refused = await cluster.ask("User:a", ApiKey.PUSH_TELEMETRY, push, 0)
        assert refused.error_code == ErrorCode.UNKNOWN_SUBSCRIPTION_ID

    with_cluster(life)
