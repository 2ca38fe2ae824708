"""Why a partition refuses a request, as the errors that clients and followers get."""

from typing import TYPE_CHECKING

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.image.entities import NO_LEADER
from tidelog.storage.shortages import remedy

if TYPE_CHECKING:
    from tidelog.replication.partition import Partition


def offline(partition: "Partition") -> KafkaError:
    log = partition.log
    what = f"takes no more records, {remedy(log.offline)}" if log.is_short else "is offline"
    return KafkaError(
        ErrorCode.KAFKA_STORAGE_ERROR,
        f"{partition.topic}-{partition.index} {what} after a disk error: {log.offline}",
    )


def no_space(partition: "Partition") -> KafkaError:
    return partition.log.health.reserve.refusal(f"{partition.topic}-{partition.index}")


def not_leader(partition: "Partition") -> KafkaError:
    leader = "no broker leads it"
    if partition.leader_id != NO_LEADER:
        leader = f"broker {partition.leader_id} leads it"
    return KafkaError(
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        f"{partition.topic}-{partition.index}: {leader} since epoch {partition.leader_epoch}",
    )


def lost_records(partition: "Partition") -> KafkaError:
    return KafkaError(
        ErrorCode.KAFKA_STORAGE_ERROR,
        f"{partition.topic}-{partition.index} is damaged on broker {partition.node_id}: it misses offsets "
        f"{partition.log.lost}, and waits to be repaired from another replica",
    )


def too_few_in_sync(partition: "Partition") -> KafkaError:
    return KafkaError(
        ErrorCode.NOT_ENOUGH_REPLICAS,
        f"{len(partition.isr)} of {len(partition.replicas)} replicas are in sync, "
        f"min.insync.replicas is {partition.min_insync_replicas}",
    )
