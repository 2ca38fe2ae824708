"""What a broker must say of itself to be let into the cluster, and which of its replicas lost their data."""

from collections.abc import Sequence
from enum import Enum

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID, Epoch, NodeId, Uuid, uuid_text
from tidelog.metadata.image.entities import (
    LOST_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerImage,
    PartitionImage,
    TopicImage,
)
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Endpoint, FeatureRange

CRASHED_SYNCED: Epoch = -2
"""In place of the epoch of an earlier process that ended in order: it did not, but it had synced what it
acknowledged by default, as under durability `fsync`."""

TEXT_LENGTH_MAX = 255
LISTENERS_MAX = 64
DIRECTORIES_MAX = 1_000


class Ended(Enum):
    """How the process before this one ended, and so what its logs may lack."""

    CLEAN = "clean"
    SYNCED = "synced"
    """It crashed, but what it acknowledged was synced, save for topics that ask for less."""
    UNCLEAN = "unclean"
    """It crashed, and a loss of power may have taken what it had acknowledged."""


def how_it_ended(known: BrokerImage | None, previous_epoch: Epoch) -> Ended:
    """`previous_epoch`: of the registration under which the broker last ended in order, as it says."""
    if known is None or known.epoch == previous_epoch:
        return Ended.CLEAN
    return Ended.SYNCED if previous_epoch == CRASHED_SYNCED else Ended.UNCLEAN


def may_lack_records(topic: TopicImage, ended: Ended) -> bool:
    """Whether a replica of this topic, on a broker that ended so, may lack what was acknowledged."""
    if ended is Ended.SYNCED:
        return topic.configs.get("durability", "fsync") != "fsync"
    return ended is Ended.UNCLEAN


def check_broker_epoch(image: ClusterImage, broker_id: NodeId, broker_epoch: Epoch) -> BrokerImage:
    """Checks that the request comes from the registered process of the broker."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for broker id {broker_id}"
        )
    if broker.epoch != broker_epoch:
        raise KafkaError(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Expected broker epoch {broker.epoch}, but got broker epoch {broker_epoch}",
        )
    return broker


def check_registered(image: ClusterImage, broker_id: NodeId) -> BrokerImage:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered"
        )
    return broker


def check_not_running(known: BrokerImage | None, session_alive: bool) -> None:
    """Another process with the same id must not push out one that serves."""
    if known is not None and session_alive and not known.fenced:
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            "Another broker is registered with that broker id. After a restart this resolves itself as soon "
            "as the session of the earlier process has ended; else give one of the two another node.id.",
        )


def check_broker(broker_id: NodeId, rack: str | None, machine: str | None = None) -> None:
    """Every broker of the cluster keeps what is let in here, for ever and in memory."""
    if broker_id < 0:
        raise _invalid("A broker's id is not negative.")
    if rack is not None and len(rack) > TEXT_LENGTH_MAX:
        raise _invalid(f"The rack's name has {len(rack)} characters, at most {TEXT_LENGTH_MAX} are allowed.")
    if machine is not None and not 0 < len(machine) <= TEXT_LENGTH_MAX:
        raise _invalid(f"The machine's name has {len(machine)} characters, not 1 to {TEXT_LENGTH_MAX}.")


def check_endpoints(endpoints: Sequence[Endpoint]) -> None:
    names = [endpoint.listener for endpoint in endpoints]
    if len(set(names)) < len(names):
        raise _invalid("Two endpoints of the broker have the same listener name.")
    if len(names) > LISTENERS_MAX:
        raise _invalid(f"The broker names {len(names)} endpoints, at most {LISTENERS_MAX} are allowed.")
    for endpoint in endpoints:
        if not 0 < len(endpoint.host) <= TEXT_LENGTH_MAX or len(endpoint.listener) > TEXT_LENGTH_MAX:
            raise _invalid(f"A host has 1 to {TEXT_LENGTH_MAX} characters, a listener's name no more.")
        if not 0 < endpoint.port < 65_536:
            raise _invalid(f"{endpoint.port} is not a port that anybody could be reached at.")


def check_directories(image: ClusterImage, broker_id: NodeId, directories: Sequence[Uuid]) -> None:
    if len(directories) > DIRECTORIES_MAX:
        raise _invalid(f"The broker lists {len(directories)} log dirs; the limit is {DIRECTORIES_MAX}.")
    if ZERO_UUID in directories or LOST_DIRECTORY in directories:
        raise _invalid("Reserved directory ID in request")
    if len(set(directories)) < len(directories):
        raise _invalid("Duplicate directory ID in request")
    for broker in image.brokers.values():
        for directory in broker.directories:
            if broker.id != broker_id and directory in directories:
                raise _invalid(
                    f"Broker {broker.id} is already registered with directory {uuid_text(directory)}"
                )


def check_features(image: ClusterImage, features: Sequence[FeatureRange]) -> None:
    """A broker must support what the cluster uses. One that says nothing of features is not checked."""
    if not features:
        return
    known = {feature.name: feature for feature in features}
    for name, level in image.features.items():
        supported = known.get(name, FeatureRange(name, 0, 0))
        if not supported.min_level <= level <= supported.max_level:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Unable to register because the broker does not support finalized version {level} of "
                f"{name}. The broker wants a version between {supported.min_level} and "
                f"{supported.max_level}, inclusive.",
            )


def lost_its_data(
    partition: PartitionImage, broker_id: NodeId, known: BrokerImage | None, directories: Sequence[Uuid]
) -> bool:
    """Whether the replica's directory is lost for good, and not only unavailable.

    A broker that comes back with fewer directories has some that it cannot read now and may later; it begins
    nothing anew meanwhile. One with as many as before and other ids among them got an empty disk. Where a
    replica lived is not always known. Then any directory that is gone may have been the one: an empty
    replica that passes for a full one would lose what was acknowledged, a full one only waits.
    """
    if not directories or (known is not None and len(directories) < len(known.all_directories)):
        return False
    directory = partition.directory_of(broker_id)
    if directory not in {UNASSIGNED_DIRECTORY, LOST_DIRECTORY}:
        return directory not in directories
    return known is None or any(before not in directories for before in known.all_directories)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGISTRATION, message)
