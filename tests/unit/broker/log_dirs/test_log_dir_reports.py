import asyncio
from types import SimpleNamespace

import pytest

from tidelog.base.ids import uuid_text
from tidelog.broker.log_dirs.log_dir_reports import REPLICAS_PER_REPORT_MAX, LogDirReports
from tidelog.metadata.brokers.directories import DirectoryAssignment, decide_assign_directories
from tidelog.metadata.image.entities import LOST_DIRECTORY, NO_LEADER
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerRegistered, PartitionCreated, TopicCreated
from tidelog.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsResponse

TOPIC = b"t" * 16
FIRST, SECOND = b"1" * 16, b"2" * 16


class Cluster:
    """A controller that decides at once, and the log dirs of broker 1."""

    def __init__(self, partitions, log_dirs):
        records = [
            BrokerRegistered(1, 5, uuid_text(b"i" * 16), (), directories=tuple(map(uuid_text, log_dirs))),
            TopicCreated("t", uuid_text(TOPIC)),
            *(PartitionCreated(uuid_text(TOPIC), index, (1,), (1,), 1) for index in range(partitions)),
        ]
        self.node_id = 1
        self.image = advance(ClusterImage(), records).after
        self.log_dirs = [SimpleNamespace(id=id, offline=None, partition_dirs={}) for id in log_dirs]
        self.requests = []
        self.is_silent = False
        self.damaged = set()
        self.reports = LogDirReports(self, self.log_dirs, self, lambda: 5, lambda: set(self.damaged))

    async def call_controller(self, api_key, version, request, *, timeout):  # noqa: ASYNC109
        if self.is_silent:
            raise TimeoutError("nobody is there")
        self.requests.append(request)
        logged_at = [
            DirectoryAssignment(directory.id_, topic.topic_id, partition.partition_index)
            for directory in request.directories
            for topic in directory.topics
            for partition in topic.partitions
        ]
        decision = decide_assign_directories(self.image, request.broker_id, request.broker_epoch, logged_at)
        assert all(result.ok for result in decision.results)
        self.image = advance(self.image, decision.records).after
        return AssignReplicasToDirsResponse()

    def send(self):
        asyncio.run(self.reports.send())

    def known(self):
        return [partition.directory_of(1) for _, partition in self.image.partitions()]


def test_replicas_are_reported_once_and_again_after_a_move():
    cluster = Cluster(3, [FIRST, SECOND])
    cluster.log_dirs[0].partition_dirs = {(TOPIC, 0): None, (TOPIC, 1): None}
    cluster.log_dirs[1].partition_dirs = {(TOPIC, 2): None}
    cluster.send()
    assert cluster.known() == [FIRST, FIRST, SECOND]
    cluster.send()
    assert len(cluster.requests) == 1
    cluster.log_dirs[1].partition_dirs[TOPIC, 0] = cluster.log_dirs[0].partition_dirs.pop((TOPIC, 0))
    cluster.send()
    assert cluster.known() == [SECOND, FIRST, SECOND]


def test_a_damaged_replica_is_lost_until_it_is_repaired():
    cluster = Cluster(2, [FIRST])
    cluster.log_dirs[0].partition_dirs = {(TOPIC, 0): None, (TOPIC, 1): None}
    cluster.damaged = {(TOPIC, 1)}
    asyncio.run(cluster.reports.report_damage(1.0))
    assert cluster.known() == [FIRST, LOST_DIRECTORY]
    assert [partition.leader for _, partition in cluster.image.partitions()] == [1, NO_LEADER]
    cluster.send()
    assert len(cluster.requests) == 1
    cluster.damaged = set()
    cluster.send()
    assert cluster.known() == [FIRST, FIRST]
    assert [partition.leader for _, partition in cluster.image.partitions()] == [1, 1]


def test_a_controller_that_is_away_is_not_waited_for_for_ever():
    cluster = Cluster(1, [FIRST])
    cluster.log_dirs[0].partition_dirs = {(TOPIC, 0): None}
    cluster.damaged = {(TOPIC, 0)}
    cluster.is_silent = True
    asyncio.run(cluster.reports.report_damage(0.05))
    assert cluster.requests == []


def test_a_log_dir_that_is_offline_says_nothing():
    cluster = Cluster(1, [FIRST, SECOND])
    cluster.log_dirs[0].partition_dirs = {(TOPIC, 0): None}
    cluster.log_dirs[0].offline = OSError("gone")
    cluster.send()
    assert cluster.requests == []


def test_what_nobody_heard_is_said_again():
    cluster = Cluster(1, [FIRST])
    cluster.log_dirs[0].partition_dirs = {(TOPIC, 0): None}
    cluster.is_silent = True
    cluster.send()
    cluster.is_silent = False
    cluster.send()
    assert cluster.known() == [FIRST]


@pytest.mark.parametrize("replicas", [REPLICAS_PER_REPORT_MAX, REPLICAS_PER_REPORT_MAX + 1])
def test_many_are_reported_in_parts(replicas):
    cluster = Cluster(replicas, [FIRST])
    cluster.log_dirs[0].partition_dirs = {(TOPIC, index): None for index in range(replicas)}
    for _ in range(4):
        cluster.send()
    assert set(cluster.known()) == {FIRST}
    assert len(cluster.requests) == -(-replicas // REPLICAS_PER_REPORT_MAX)
