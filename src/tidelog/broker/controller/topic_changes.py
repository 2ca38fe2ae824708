"""Creates topics: those that a client asks for, and those that are auto-created."""

import logging
from collections.abc import Callable, Sequence

from tidelog.base.ids import Uuid, uuid_from_random
from tidelog.broker.requests.context import Services
from tidelog.broker.requests.tries import Tries
from tidelog.metadata.topics.create_topics import (
    CreatedTopic,
    NewTopic,
    TopicDefaults,
    create_topics_in_steps,
)
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

CREATE_VERSION = 7
CREATE_TIMEOUT_MS = 30_000

log = logging.getLogger("tidelog.broker")


def new_topic_id(services: Services) -> Uuid:
    return uuid_from_random(services.random.bytes(16))


async def create(
    services: Services,
    topics: Sequence[NewTopic],
    *,
    validate_only: bool = False,
    tries: Tries | None = None,
    charge: Callable[[], Callable[[int], None]] | None = None,
) -> Sequence[CreatedTopic]:
    """`tries`: of a request that may be made again, also to another controller.

    `charge` is called when a decision begins, and returns what is charged the partitions of each topic.
    """
    config = services.config
    defaults = TopicDefaults(
        num_partitions=config.int("num.partitions"),
        replication_factor=config.int("default.replication.factor"),
    )
    return await services.metadata.change(
        lambda image: create_topics_in_steps(
            image,
            topics,
            defaults=defaults,
            new_id=lambda: new_topic_id(services),
            validate_only=validate_only,
            config=config,
            ids_of=None if tries is None else tries.topic_ids,
            charge=None if charge is None else charge(),
        )
    )


async def auto_create(services: Services, names: Sequence[str]) -> None:
    """Create these topics; a refusal (a bad name, say) shows in the metadata response."""
    wanted = [name for name in dict.fromkeys(names) if name not in services.written_by_brokers]
    if not wanted:
        return
    if services.metadata.decides_here:
        await create(services, [NewTopic(name) for name in wanted])
        return
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=-1, replication_factor=-1) for name in wanted],
        timeout_ms=CREATE_TIMEOUT_MS,
    )
    try:
        await services.forwarding.ask_controller(ApiKey.CREATE_TOPICS, CREATE_VERSION, request)
    except OSError as error:
        log.warning("topics %s could not be created: %s", ", ".join(wanted), error)
