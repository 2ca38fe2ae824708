"""DescribeConfigs: every setting of a topic, group, subscription or broker, with source and meaning."""

from collections.abc import Collection

from tidelog.base.config.config import (
    ConfigEntry,
    describe_broker,
    describe_client_metrics,
    describe_cluster_defaults,
    describe_group,
    describe_topic,
)
from tidelog.base.config.values import ConfigSource
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.broker.handlers.configs.permissions import check_settings
from tidelog.broker.log_levels import logger_levels
from tidelog.broker.requests.config_resources import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    broker_named,
)
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.names import why_illegal
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


def handle(context: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_describe(context, request, asked) for asked in request.resources]
    )


def _describe(
    context: Context, request: DescribeConfigsRequest, asked: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=asked.resource_type, resource_name=asked.resource_name)
    try:
        check_settings(context, Operation.DESCRIBE_CONFIGS, asked.resource_type, asked.resource_name)
        entries = _entries(context, asked)
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.message
        return result
    result.configs = [_shown(request, entry) for entry in entries]
    return result


def _entries(context: Context, asked: DescribeConfigsResource) -> list[ConfigEntry]:
    services = context.services
    names: Collection[str] | None = None
    if asked.configuration_keys is not None:
        names = set(asked.configuration_keys)
    if asked.resource_type == TOPIC:
        if reason := why_illegal(asked.resource_name):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        topic = services.metadata.image.topic(asked.resource_name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return describe_topic(topic.configs, services.config, names)
    if asked.resource_type == BROKER:
        if broker_named(services.metadata.node_id, asked.resource_name):
            return describe_broker(services.config, names)
        return describe_cluster_defaults(services.config, names)
    if asked.resource_type == GROUP:
        if not asked.resource_name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return describe_group(
            services.metadata.image.group_configs.get(asked.resource_name, {}), services.config, names
        )
    if asked.resource_type == CLIENT_METRICS:
        if not asked.resource_name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        texts = services.metadata.image.client_metrics.get(asked.resource_name, {})
        return describe_client_metrics(texts, services.config, names)
    if asked.resource_type == BROKER_LOGGER:
        return _loggers(services.metadata.node_id, asked.resource_name, names)
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type {asked.resource_type}")


def _loggers(node_id: NodeId, name: str, names: Collection[str] | None) -> list[ConfigEntry]:
    if not broker_named(node_id, name):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return [
        ConfigEntry(logger, level, False, source, False, 0, "", ())
        for logger, level in logger_levels().items()
        if names is None or logger in names
    ]


def _shown(request: DescribeConfigsRequest, entry: ConfigEntry) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
            for s in (entry.synonyms if request.include_synonyms else ())
        ],
        config_type=entry.type_code,
        documentation=entry.doc if request.include_documentation else None,
    )
