"""CreateTopics: with defaults, explicit assignments, configs, or only as a check."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tidelog.base.config.config import BrokerConfig, describe_topic
from tidelog.base.errors import ErrorCode
from tidelog.broker.controller.topic_changes import create
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.create_topics import CreatedTopic, NewTopic
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

STRICT_SINCE = 6
"""The first version whose clients understand THROTTLING_QUOTA_EXCEEDED."""


async def handle(context: Context, request: CreateTopicsRequest) -> CreateTopicsResponse:
    refused = _not_allowed(context, request.topics)
    wanted = [_new_topic(topic) for topic in request.topics if topic.name not in refused]
    quota = context.charge_mutations(strict_since=STRICT_SINCE)
    results = await create(
        context.services,
        wanted,
        validate_only=request.validate_only,
        tries=context.tries,
        charge=None if quota is None else quota.anew,
    )
    if quota is not None:
        context.throttle_ms = quota.throttle_ms
    return CreateTopicsResponse(topics=[*_unique(context, results), *map(_refusal, refused)])


def _not_allowed(context: Context, topics: Sequence[CreatableTopic]) -> dict[str, None]:
    """The names that the client may not create. A name that occurs twice is refused anyway."""
    if context.may(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        return {}
    times = Counter(topic.name for topic in topics)
    return {
        name: None
        for name, count in times.items()
        if count == 1 and not context.allows(Operation.CREATE, ResourceType.TOPIC, name)
    }


def _refusal(name: str) -> CreatableTopicResult:
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return CreatableTopicResult(name=name, error_code=error, error_message=error.text, configs=[])


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(a.partition_index, a.broker_ids) for a in topic.assignments],
        configs=[(config.name, config.value) for config in topic.configs],
    )


def _unique(context: Context, results: Sequence[CreatedTopic]) -> list[CreatableTopicResult]:
    """A name that occurs twice gets one result: clients read the response into a map."""
    by_name = {result.name: result for result in results}
    settings = DescribedSettings(context.services.config)
    return [_answer(context, settings, result) for result in by_name.values()]


class DescribedSettings:
    """All settings of a topic, some dozens, made once for all topics of a request with the same overrides."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._by_overrides: dict[frozenset[tuple[str, str]], list[CreatableTopicConfigs]] = {}

    def of(self, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
        key = frozenset(overrides.items())
        configs = self._by_overrides.get(key)
        if configs is None:
            configs = self._by_overrides[key] = [
                CreatableTopicConfigs(
                    name=entry.name,
                    value=entry.value,
                    read_only=entry.read_only,
                    config_source=entry.source,
                    is_sensitive=entry.sensitive,
                )
                for entry in describe_topic(overrides, self._config)
            ]
        return configs


def _answer(context: Context, settings: DescribedSettings, created: CreatedTopic) -> CreatableTopicResult:
    answer = CreatableTopicResult(
        name=created.name,
        topic_id=created.topic_id,
        error_code=created.error,
        error_message=created.message,
    )
    if created.error is not ErrorCode.NONE:
        answer.configs = []
        return answer
    if not context.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, created.name):
        answer.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        answer.configs = None
        return answer
    answer.num_partitions = created.num_partitions
    answer.replication_factor = created.replication_factor
    answer.configs = settings.of(created.configs)
    return answer
