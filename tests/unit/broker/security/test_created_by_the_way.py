"""Topics that a request creates by the way count against the quota of its client; those that it does not, do
not."""

import msgspec

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.groups import FIND_GROUP, JOIN_STREAMS
from tests.rigs.sample_requests.sample import TOPIC
from tidelog.metadata.security.quotas import QuotaEdit, decide_alter_quotas
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

BURST = 11  # a partition a second, over eleven windows
LIMIT = QuotaEdit([("user", "admin")], [("controller_mutation_rate", 1.0)])


async def limited(cluster: AuthorizedCluster) -> None:
    await cluster.services().metadata.change(lambda image: decide_alter_quotas(image, [LIMIT]))
    await cluster.until(lambda: cluster.services().mutations is not None, "the quota holds")


def test_topics_of_a_metadata_request() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await limited(cluster)

        async def pause_after(*names: str) -> int:
            wanted = [MetadataRequestTopic(name=name) for name in names]
            request = MetadataRequest(topics=wanted, allow_auto_topic_creation=True)
            return int((await cluster.ask(ADMIN, ApiKey.METADATA, request)).throttle_time_ms)

        for _ in range(2 * BURST):
            assert await pause_after("not a name", "__consumer_offsets") == 0
        assert await pause_after(*["same"] * 2 * BURST) == 0
        assert await pause_after(*(f"topic-{number}" for number in range(BURST))) > 0

    with_cluster(life, num_partitions="1")


def test_internal_topics_of_a_streams_application() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(TOPIC, partitions=2 * BURST)
        await cluster.ask(ADMIN, FIND_GROUP.key, FIND_GROUP.request)
        await limited(cluster)
        beat = msgspec.structs.replace(JOIN_STREAMS.request)
        first = await cluster.ask(ADMIN, JOIN_STREAMS.key, beat)
        assert not first.error_code
        assert first.throttle_time_ms > 0

    with_cluster(life)
