"""Topics are created in one way, whether a client asks for them or merely names them."""

from collections.abc import Sequence

from tidelog.base.ids import Uuid, uuid_from_random
from tidelog.broker.context import Services
from tidelog.metadata.create_topics import CreatedTopic, NewTopic, TopicDefaults, decide_create_topics
from tidelog.metadata.topic_names import INTERNAL_TOPICS


def new_topic_id(services: Services) -> Uuid:
    return uuid_from_random(services.random.bytes(16))


async def create(
    services: Services, topics: Sequence[NewTopic], *, validate_only: bool = False
) -> Sequence[CreatedTopic]:
    config = services.config
    defaults = TopicDefaults(
        num_partitions=config.int("num.partitions"),
        replication_factor=config.int("default.replication.factor"),
    )
    return await services.metadata.change(
        lambda image: decide_create_topics(
            image,
            topics,
            defaults=defaults,
            new_id=lambda: new_topic_id(services),
            validate_only=validate_only,
            config=config,
        )
    )


async def auto_create(services: Services, names: Sequence[str]) -> None:
    """Create what was named; a refusal (a bad name, say) shows in the metadata answer."""
    wanted = [NewTopic(name) for name in dict.fromkeys(names) if name not in INTERNAL_TOPICS]
    if wanted:
        await create(services, wanted)
