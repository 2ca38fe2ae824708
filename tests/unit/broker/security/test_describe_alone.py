"""A user that may describe everything, and nothing else, reads no record and changes nothing."""

from typing import Any

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.all_samples import SAMPLES
from tests.rigs.sample_requests.records import BY_NAME, produce
from tests.rigs.sample_requests.sample import NEW_TOPIC, TOPIC
from tidelog.base.errors import ErrorCode
from tidelog.security.acls.acl import WILDCARD
from tidelog.security.acls.vocabulary import CLUSTER_NAME, OPERATIONS_ON, Operation, ResourceType
from tidelog.wire.apis import ApiKey

LOOKER = "User:looker"
CONTENTS = b"what only readers may know"


def test_a_user_with_describe_alone_learns_no_contents_and_changes_nothing() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        topic_id = await cluster.create_topic(TOPIC)
        await cluster.ask(ADMIN, ApiKey.PRODUCE, produce(CONTENTS), BY_NAME)
        for kind, operations in OPERATIONS_ON.items():
            if Operation.DESCRIBE in operations:
                name = CLUSTER_NAME if kind is ResourceType.CLUSTER else WILDCARD
                await cluster.allow(LOOKER, Operation.DESCRIBE, kind, name)
        before = state(cluster)
        for sample in (one.for_topic(topic_id) for one in SAMPLES):
            connection = cluster.connection(LOOKER, sample.listener)
            try:
                answer = await cluster.ask(connection, sample.key, sample.request, sample.version)
            except ConnectionError:
                continue
            assert CONTENTS not in bytes_in(answer), sample
            assert state(cluster) == before, sample
        assert (await read(cluster, ADMIN)) == (0, True), "the test must be able to notice"
        assert (await read(cluster, LOOKER)) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, False)

    with_cluster(life, delegation_token_secret_key="a secret")


async def read(cluster: AuthorizedCluster, principal: str) -> tuple[int, bool]:
    [sample] = [one for one in SAMPLES if str(one) == "FETCH of a consumer"]
    answer = await cluster.ask(principal, sample.key, sample.request, sample.version)
    return answer.responses[0].partitions[0].error_code, CONTENTS in bytes_in(answer)


def state(cluster: AuthorizedCluster) -> tuple[Any, ...]:
    """Without the internal topics, which any client that looks for a coordinator makes the broker create."""
    image = cluster.services().metadata.image
    topics = {name: topic for name, topic in image.topics.items() if name in (TOPIC, NEW_TOPIC)}
    log = cluster.services().partitions.find(TOPIC, 0).log
    return topics, image.group_configs, image.brokers, image.security, image.features, log.start, log.end


def bytes_in(value: Any) -> bytes:
    if isinstance(value, list):
        return b"".join(map(bytes_in, value))
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    fields = getattr(value, "__struct_fields__", ())
    return b"".join(bytes_in(getattr(value, field)) for field in fields)
