"""Consumers and the replica they read from: the leader, a follower in their rack, or one that lags."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs import virtual_time
from tests.rigs.log import NOW_MS, open_log
from tests.rigs.quotas import client_quotas
from tidelog.base.config.config import load
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.records import fetch
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.fetch_sessions import FetchSessions
from tidelog.broker.security.request_charge import RequestCharge
from tidelog.metadata.image.entities import PartitionImage, TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Endpoint
from tidelog.replication.partition import Durability, Partition
from tidelog.storage.log_config import LogConfig
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from tidelog.wire.record import Record, write_batch

TOPIC_ID = bytes(range(16))
RACKS = {1: "a", 2: "b", 3: "c"}
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class Rig:
    """Broker 1 with one partition, led by `leader`; 4 records, of which 3 are committed."""

    def __init__(
        self,
        leader: int = 1,
        selector: str | None = SELECTOR,
        inter_broker_listener: str = "PLAINTEXT",
    ) -> None:
        log = open_log(MemoryDisk(), LogConfig())
        self.partition = Partition(
            "orders",
            TOPIC_ID,
            0,
            log,
            node_id=1,
            durability=Durability.OS,
            min_insync_replicas=1,
            on_unsynced=lambda _: None,
        )
        self.image = PartitionImage(0, (1, 2, 3), (1, 2, 3), leader, leader_epoch=5, partition_epoch=5)
        self.partition.apply(PartitionImage(0, (1, 2, 3), (1, 2, 3), 1, leader_epoch=4), 0.0)
        for _ in range(4):
            batch = write_batch([Record(0, NOW_MS, None, b"x", [])])
            self.partition.produce(memoryview(batch), all_replicas=True, now_ms=NOW_MS)
        for node in (2, 3):
            self.partition.leader.follower_fetched(node, 0, 3, 0.0, log_start=0)
        self.partition.apply(self.image, 0.0)
        if leader == 1:
            for node in (2, 3):
                self.partition.leader.follower_fetched(node, 0, 3, 0.0, log_start=0)
        assert self.partition.high_watermark == 3
        brokers = {
            node: SimpleNamespace(
                id=node,
                rack=rack,
                fenced=False,
                endpoints={"PLAINTEXT": Endpoint("PLAINTEXT", f"h{node}", 9092)},
            )
            for node, rack in RACKS.items()
        }
        topic = TopicImage("orders", TOPIC_ID, (self.image,))
        self.cluster = ClusterImage(
            brokers=brokers,  # type: ignore[arg-type]
            topics={"orders": topic},
            topics_by_id={TOPIC_ID: topic},
        )
        self.as_follower: list[tuple[int, int]] = []
        self.charge: RequestCharge | None = None
        self.services = SimpleNamespace(
            denials={},
            audit=None,
            authorizer=None,
            config=load(flags={"replica.selector.class": selector} if selector else {}),
            partitions=SimpleNamespace(find=self._find, find_any=lambda *_: self.partition),
            metadata=SimpleNamespace(
                image=self.cluster,
                reachable_brokers=lambda listener: [(b, b.endpoints[listener]) for b in brokers.values()],
            ),
            sessions=FetchSessions(
                SimpleNamespace(monotonic=lambda: 0.0),  # type: ignore[arg-type]
                SimpleNamespace(below=lambda limit: 7),  # type: ignore[arg-type]
                slots=10,
                evict_after_ms=1000,
            ),
            replication=SimpleNamespace(fetches=SimpleNamespace(handle=self._as_follower)),
            inter_broker_listener=inter_broker_listener,
        )

    def _find(self, *_: Any) -> Partition:
        if not self.partition.is_leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self.partition

    def _as_follower(
        self, _: FetchRequest, __: int, replica: int, epoch: int, is_allowed: object
    ) -> FetchResponse:
        self.as_follower.append((replica, epoch))
        return FetchResponse()

    def ask(self, request: FetchRequest, version: int = 17) -> FetchResponse:
        async def work() -> FetchResponse:
            context = Context(self.services, ClientConnection("", 0, "PLAINTEXT"), version, None)  # type: ignore[arg-type]
            context.charge = self.charge
            answer = fetch.handle(context, request)
            return await answer if isinstance(answer, asyncio.Future) else answer

        return virtual_time.run(work())

    def consume(self, offset: int, *, rack: str = "", version: int = 17, epoch: int = -1) -> PartitionData:
        self.response = self.ask(consumer(offset, rack, version, epoch), version)
        [answer] = self.response.responses[0].partitions
        return answer


def consumer(offset: int, rack: str = "", version: int = 17, epoch: int = -1) -> FetchRequest:
    asked = FetchPartition(fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=epoch)
    name = {"topic_id": TOPIC_ID} if version >= 13 else {"topic": "orders"}
    return FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        rack_id=rack,
        topics=[FetchTopic(partitions=[asked], **name)],  # type: ignore[arg-type]
    )


def test_a_consumer_in_a_followers_rack_is_sent_there_at_once() -> None:
    rig = Rig()
    answer = rig.consume(0, rack="b")
    assert (answer.preferred_read_replica, answer.error_code, answer.records) == (2, 0, b"")
    assert answer.high_watermark == 3


@pytest.mark.parametrize(
    ("rack", "selector"), [("a", SELECTOR), ("nowhere", SELECTOR), ("", SELECTOR), ("b", None), ("b", "Mine")]
)
def test_everybody_else_reads_from_the_leader(rack: str, selector: str | None) -> None:
    answer = Rig(selector=selector).consume(0, rack=rack)
    assert answer.preferred_read_replica == -1
    assert answer.records


def test_nobody_is_sent_to_a_broker_that_it_cannot_reach() -> None:
    for change in ({"fenced": True}, {"endpoints": {}}):
        rig = Rig()
        vars(rig.cluster.brokers[2]).update(change)
        assert rig.consume(0, rack="b").preferred_read_replica == -1


def test_a_follower_serves_what_it_knows_to_be_committed() -> None:
    rig = Rig(leader=2)
    answer = rig.consume(0)
    assert answer.error_code == 0
    assert answer.high_watermark == 3
    assert answer.records
    assert rig.consume(3).records == b"", "the fourth record may still be taken back"


@pytest.mark.parametrize(
    ("leader", "offset", "code"),
    [
        (2, 5, ErrorCode.OFFSET_NOT_AVAILABLE),
        (2, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (1, 5, ErrorCode.OFFSET_OUT_OF_RANGE),
        (1, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_only_the_leader_knows_what_is_out_of_range(leader: int, offset: int, code: ErrorCode) -> None:
    assert Rig(leader).consume(offset).error_code == code


def test_an_old_consumer_is_told_that_it_should_ask_the_leader() -> None:
    rig = Rig(leader=2)
    assert rig.consume(0, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert rig.consume(0, version=11).error_code == 0


def test_a_consumer_with_old_metadata_is_told_who_leads_and_where() -> None:
    rig = Rig(leader=2)
    answer = rig.consume(0, epoch=4)
    assert answer.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert answer.current_leader is not None
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (2, 5)
    assert [(node.node_id, node.host, node.port) for node in rig.response.node_endpoints] == [(2, "h2", 9092)]
    assert rig.consume(0, epoch=4, version=15).current_leader is None
    assert rig.response.node_endpoints == []


def test_a_log_that_cannot_be_written_any_more_can_be_read() -> None:
    rig = Rig(leader=2)
    rig.partition.log.health.offline = OSError("no space is left")
    assert rig.consume(0).records


def test_brokers_are_known_by_their_id_in_every_version() -> None:
    rig = Rig()
    rig.ask(FetchRequest(replica_id=3), 14)
    rig.ask(FetchRequest(replica_state=ReplicaState(replica_id=2, replica_epoch=77)), 15)
    assert rig.as_follower == [(3, -1), (2, 77)]


def test_followers_fetch_on_the_listener_of_brokers_alone() -> None:
    rig = Rig(inter_broker_listener="INTERNAL")
    refused = rig.ask(FetchRequest(replica_id=3), 14)
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert rig.as_follower == []


def limited(bytes_per_second: float, *, used: int = 0, windows: int = 11) -> RequestCharge:
    quotas = client_quotas(windows=windows, consumer_byte_rate=bytes_per_second)
    charge = RequestCharge(quotas, quotas.limits_of("User:ANONYMOUS", None))
    assert charge.fetched(used)
    return charge


def test_a_consumer_above_its_quota_gets_no_records_and_no_session() -> None:
    """The first response of a session names all partitions, and this one names none."""
    rig = Rig()
    rig.charge = limited(1000, used=10_000)
    opening = consumer(0)
    opening.session_epoch = 0
    response = rig.ask(opening)
    assert (response.error_code, response.session_id, response.responses) == (0, 0, [])
    assert rig.charge.throttle_ms > 0
    assert len(rig.services.sessions) == 0


def test_a_session_goes_on_after_a_response_without_records() -> None:
    rig = Rig()
    opening = consumer(0)
    opening.session_epoch = 0
    opened = rig.ask(opening)
    rig.charge = limited(1000, used=10_000)
    response = rig.ask(FetchRequest(session_id=7, session_epoch=1, max_wait_ms=100, min_bytes=1))
    assert (response.session_id, response.responses) == (7, [])
    assert opened.session_id == 7
    rig.charge = None
    response = rig.ask(FetchRequest(session_id=7, session_epoch=2, max_wait_ms=100, min_bytes=1))
    assert response.responses[0].partitions[0].records


def test_a_consumer_waits_for_records_also_where_its_quota_leaves_no_burst() -> None:
    rig = Rig()
    rig.charge = limited(1000, windows=1)

    async def waits() -> bool:
        context = Context(rig.services, ClientConnection("", 0, "PLAINTEXT"), 17, None)  # type: ignore[arg-type]
        context.charge = rig.charge
        answer = fetch.handle(context, consumer(3))
        return isinstance(answer, asyncio.Future) and not answer.done() and bool(answer.cancel())

    assert virtual_time.run(waits())


def test_a_fetch_returns_no_more_than_the_burst_and_does_not_wait_for_more() -> None:
    rig = Rig()
    rig.charge = limited(1)
    asked = consumer(0)
    asked.min_bytes = 1 << 20
    response = rig.ask(asked)
    [answer] = response.responses[0].partitions
    assert 0 < len(answer.records) < 100  # a single batch, however small the quota is


def test_followers_are_not_charged() -> None:
    rig = Rig()
    rig.charge = limited(1, used=10)
    rig.ask(FetchRequest(replica_id=3), 14)
    assert rig.as_follower == [(3, -1)]
    assert rig.charge.throttle_ms == 0
