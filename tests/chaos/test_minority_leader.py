"""A leader that is cut off and does not know it: what it takes with acks=1 goes away again."""

import pytest

from tests.chaos.process_cluster import PATIENCE_S
from tests.chaos.replica_files import differing_replicas
from tests.chaos.victim import wait_until
from tests.faults.log_calls import batch, produce, produce_request, read_all
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import ProduceResponse

pytestmark = pytest.mark.timeout(300)

BY_NAME = 12


def test_only_what_the_majority_has_stays(make_cluster) -> None:
    cluster = make_cluster()
    cluster.start()
    cluster.create_topic("t", 1)
    cluster.until_whole()
    old = cluster.leader("t")
    others = cluster.members.keys() - {old}
    with RawClient(cluster.members[old].port) as to_old:
        assert produce(to_old, "t", batch(b"before")).error_code == ErrorCode.NONE
        cluster.links.cut([old], others)
        # Nothing tells this leader that it is alone, so it takes what needs nobody else,
        answer = produce(to_old, "t", batch(b"lonely 1"), acks=1)
        assert answer.error_code == ErrorCode.NONE
        # and cannot acknowledge what needs the others; nor may a consumer see any of it.
        assert acks_all(to_old, b"lonely 2") is not ErrorCode.NONE
        assert values(to_old) == [b"before"]

        wait_until(lambda: new_leader(cluster, others) in others, "the majority elects", PATIENCE_S)
        new = new_leader(cluster, others)
        with RawClient(cluster.members[new].port) as to_new:
            assert produce(to_new, "t", batch(b"after")).error_code == ErrorCode.NONE
            assert acks_all(to_old, b"lonely 3") is not ErrorCode.NONE

            cluster.links.mend()
            cluster.until_whole()
            assert values(to_new) == [b"before", b"after"]
            assert acks_all(to_old, b"too late") is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert "truncated from" in cluster.members[old].log_text(), "it says what it gave up"
    for member in cluster.members.values():
        assert member.terminate() == 0
    assert not list(differing_replicas([member.data for member in cluster.members.values()], "t-0"))


def acks_all(client: RawClient, value: bytes) -> ErrorCode:
    request = produce_request("t", batch(value), acks=-1, timeout_ms=500)
    answer = client.ask(ApiKey.PRODUCE, request, BY_NAME)
    assert isinstance(answer, ProduceResponse)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def new_leader(cluster, others) -> int:
    """As the majority tells it; the broker that is cut off still names itself."""

    with RawClient(cluster.members[min(others)].port) as client:
        answer = client.ask(
            ApiKey.METADATA, MetadataRequest(topics=[MetadataRequestTopic(name="t")]), BY_NAME
        )
    return int(answer.topics[0].partitions[0].leader_id)


def values(client: RawClient) -> list[bytes | None]:
    return [record.value for record in read_all(client, "t")]
