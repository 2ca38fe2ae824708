"""A queue's leader is killed while members of a share group hold many records: how soon do others get them?

    python -m benches.queue_failover [--records N] [--plain] [--stop]

Three brokers, one partition. Of the first records each second is acknowledged, so that the stored state is as
ragged as it gets; `--plain` leaves that out. `--stop` ends the leader with SIGTERM. Told apart: until another
broker leads, which for a killed one is the session timeout of brokers, and from then until the first record
and all records are delivered again.
"""

import argparse
import socket
import struct
import time
import uuid
from typing import Any

from benches.failover import Address, Member, cluster
from benches.rig.frames import call, frame
from benches.rig.report import machine, show
from benches.versus.queues.share import LATER, prepare_group
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_response
from tidelog.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from tidelog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tidelog.wire.record import Record, write_batch

TOPIC, GROUP = "jobs", "workers"
BATCH, FETCH = 500, 5_000
ACKS_PER_REQUEST = 2_500
ACCEPT = 1
LOCK_MS = 60_000
FIRST_PORT = 27_300


class Session:
    """A share session with the broker at an address."""

    def __init__(self, address: Address, topic_id: bytes, member: str) -> None:
        self._socket = socket.create_connection(address, timeout=30)
        self._topic_id, self._member = topic_id, member
        self._epoch = 0

    def fetch(self, accepted: list[int], records_max: int, wait_ms: int = 500) -> list[tuple[int, int]]:
        """Returns ranges of offsets. ConnectionError: the broker does not lead."""
        acks = [
            AcknowledgementBatch(first_offset=one, last_offset=one, acknowledge_types=[ACCEPT])
            for one in accepted
        ]
        part = FetchPartition(partition_index=0, acknowledgement_batches=acks)
        request = ShareFetchRequest(
            group_id=GROUP,
            member_id=self._member,
            share_session_epoch=self._epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=50 << 20,
            max_records=records_max,
            batch_size=records_max,
            topics=[FetchTopic(topic_id=self._topic_id, partitions=[part])],
        )
        self._socket.sendall(frame(ApiKey.SHARE_FETCH, 1, request))
        (size,) = struct.unpack(">i", self._receive(4))
        answer = read_response(ApiKey.SHARE_FETCH, 1, self._receive(size))[1]
        parts = [one for topic in answer.responses for one in topic.partitions]
        for code in (answer.error_code, *(one.error_code or one.acknowledge_error_code for one in parts)):
            if code:
                raise ConnectionError(f"error {code}")
        self._epoch += 1
        return [(each.first_offset, each.last_offset) for one in parts for each in one.acquired_records]

    def _receive(self, size: int) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            count = self._socket.recv_into(view)
            if not count:
                raise ConnectionError("the broker ended the connection")
            view = view[count:]
        return data

    def close(self) -> None:
        self._socket.close()


def metadata(address: Address) -> Any:
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
    return call(address, ApiKey.METADATA, 12, wanted).topics[0]


def leader(address: Address) -> int:
    parts = metadata(address).partitions
    return int(parts[0].leader_id) if parts else -1


def fill(members: dict[int, Member], records: int) -> bytes:
    """Makes the topic with so many records of 100 bytes; returns its id."""
    first = members[1].address
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=len(members))
    call(first, ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=60_000))
    while leader(first) < 0:
        time.sleep(0.05)
    now = time.time_ns() // 1_000_000
    batch = write_batch([Record(number, now, None, bytes(100), []) for number in range(BATCH)])
    data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
    for _ in range(records // BATCH):
        answer = call(members[leader(first)].address, ApiKey.PRODUCE, 12, request)
        code = answer.responses[0].partition_responses[0].error_code
        if code:
            raise RuntimeError(f"Produce: error {code}")
    return bytes(metadata(first).topic_id)


def join(address: Address, member: str) -> None:
    """Until the group has state for the partition. Later, fetches need no membership."""
    epoch = 0
    while True:
        found = call(address, ApiKey.FIND_COORDINATOR, 3, FindCoordinatorRequest(key=GROUP))
        request = ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member,
            member_epoch=epoch,
            subscribed_topic_names=[TOPIC] if not epoch else None,
        )
        if not found.error_code:
            answer = call((found.host, found.port), ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
            if answer.error_code and answer.error_code not in LATER:
                raise RuntimeError(f"ShareGroupHeartbeat: error {answer.error_code} {answer.error_message}")
            epoch = answer.member_epoch if not answer.error_code else epoch
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return
        time.sleep(0.2)


def hold(session: Session, records: int, *, ragged: bool) -> set[int]:
    """Takes so many records and keeps them; returns the offsets that it accepted before."""
    accepted: set[int] = set()
    held: list[int] = []
    while len(held) < records:
        ranges = session.fetch([], min(FETCH, records - len(held)))
        held += [offset for first, last in ranges for offset in range(first, last + 1)]
        if ragged and len(held) >= records and not accepted:
            accepted = set(held[1::2])
            held = held[::2]
            todo = sorted(accepted)
            while todo:
                ranges = session.fetch(todo[:ACKS_PER_REQUEST], ACKS_PER_REQUEST, wait_ms=0)
                held += [offset for first, last in ranges for offset in range(first, last + 1)]
                todo = todo[ACKS_PER_REQUEST:]
    return accepted


def resume(
    members: dict[int, Member], topic_id: bytes, killed: int, wanted: set[int], accepted: set[int]
) -> tuple[float, ...]:
    """Seconds until another broker leads, the first record comes, and all have come."""
    began = time.perf_counter()
    other = next(member for id, member in members.items() if id != killed)
    while (now_leads := leader(other.address)) in (killed, -1):
        time.sleep(0.01)
    led = time.perf_counter() - began
    first = 0.0
    session: Session | None = None
    missing = set(wanted)
    while missing:
        try:
            if session is None:
                session = Session(members[now_leads].address, topic_id, str(uuid.uuid4()))
            ranges = session.fetch([], FETCH)
        except OSError:
            session, now_leads = None, leader(other.address)
            continue
        if ranges and not first:
            first = time.perf_counter() - began
        for one, last in ranges:
            missing.difference_update(range(one, last + 1))
            if not accepted.isdisjoint(range(one, last + 1)):
                raise RuntimeError(f"acknowledged records came again, within {one} to {last}")
    return led, first, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--stop", action="store_true", help="SIGTERM, and not kill -9")
    options = parser.parse_args()
    records = options.records
    print(machine())
    with cluster(first_port=FIRST_PORT) as members:
        topic_id = fill(members, 2 * records)
        prepare_group(
            members[1].address,
            GROUP,
            share_partition_max_record_locks=records,
            share_record_lock_duration_ms=LOCK_MS,
        )
        member = str(uuid.uuid4())
        join(members[1].address, member)
        leads = leader(members[1].address)
        session = Session(members[leads].address, topic_id, member)
        began = time.perf_counter()
        accepted = hold(session, records, ragged=not options.plain)
        took = time.perf_counter() - began
        show(f"{records} records held, {len(accepted)} between them accepted", took, "s")
        if options.stop:
            members[leads].process.terminate()
        else:
            members[leads].kill()
        session.close()
        taken = set(range(records + len(accepted))) - accepted
        led, first, whole = resume(members, topic_id, leads, taken, accepted)
        how = "stopped" if options.stop else "killed, with a session of 9 s"
        show(f"leader {how}: another broker leads", led, "s")
        show("then until the first record is delivered again", first - led, "s", at_most=3)
        show(f"then until all {records} records are delivered again", whole - led, "s", at_most=3)


if __name__ == "__main__":
    main()
