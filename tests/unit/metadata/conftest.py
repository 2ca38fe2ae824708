"""Small clusters and topics for the tests of decisions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.metadata.metadata_dir import MetadataDir
from tidelog.base.ids import Uuid, uuid_text
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import (
    BrokerRegistered,
    ClusterCreated,
    ConfigChanged,
    Endpoint,
    PartitionCreated,
    ResourceKind,
    TopicCreated,
)
from tidelog.metadata.store import store as quorum_store


def numbered_id(number: int) -> Uuid:
    return number.to_bytes(16, "big")


@pytest.fixture
def new_id() -> Callable[[], Uuid]:
    """Ids 1, 2, 3... in place of random ones."""
    given = iter(range(1, 1_000_000))
    return lambda: numbered_id(next(given))


@pytest.fixture
def cluster() -> Callable[..., ClusterImage]:
    """Makes an image with brokers 1 to n; racks and machines by broker; those in `fenced` are fenced."""

    def make(
        brokers: int = 1,
        *,
        racks: dict[int, str] | None = None,
        fenced: tuple[int, ...] = (),
        machines: dict[int, str] | None = None,
    ) -> ClusterImage:
        records = [ClusterCreated("test-cluster")] + [
            BrokerRegistered(
                broker,
                epoch=broker,
                incarnation=uuid_text(numbered_id(1000 + broker)),
                endpoints=(Endpoint("PLAINTEXT", "localhost", 9092 + broker),),
                rack=(racks or {}).get(broker),
                directories=(uuid_text(numbered_id(2000 + broker)),),
                fenced=broker in fenced,
                machine=(machines or {}).get(broker),
            )
            for broker in range(1, brokers + 1)
        ]
        return advance(ClusterImage(), records).after

    return make


TOPIC_ID = numbered_id(1)


@pytest.fixture
def with_topic(cluster) -> Callable[..., ClusterImage]:
    """Makes an image with brokers 1 to n and one topic "t"; for each partition its replicas, leader first.

    `isr` replaces the in-sync set of all partitions; a leader that is not in it is none.
    """

    def make(
        *partitions, brokers=4, isr=None, unclean=False, fenced=(), adding=(), removing=(), machines=None
    ):
        image = cluster(brokers, fenced=fenced, machines=machines)
        id_text = uuid_text(TOPIC_ID)
        records = [TopicCreated("t", id_text)]
        for index, replicas in enumerate(partitions):
            members = replicas if isr is None else isr
            leader = next((broker for broker in replicas if broker in members and broker not in fenced), -1)
            directories = tuple(uuid_text(numbered_id(2000 + broker)) for broker in replicas)
            records.append(
                PartitionCreated(
                    id_text,
                    index,
                    replicas,
                    members,
                    leader,
                    leader_epoch=5,
                    partition_epoch=7,
                    directories=directories,
                    adding=adding,
                    removing=removing,
                )
            )
        if unclean:
            records.append(ConfigChanged(ResourceKind.TOPIC, "t", "unclean.leader.election.enable", "true"))
        return advance(image, records).after

    return make


@pytest.fixture
def apply() -> Callable[..., ClusterImage]:
    """The image after a decision."""
    return lambda image, decision: advance(image, decision.records).after


@pytest.fixture
def cordoned() -> Callable[..., ClusterImage]:
    """The image with these brokers cordoned."""

    def make(image: ClusterImage, *brokers: int) -> ClusterImage:
        records = [ConfigChanged(ResourceKind.BROKER, str(id), "cordoned.log.dirs", "*") for id in brokers]
        return advance(image, records).after

    return make


@pytest.fixture
def metadata_dir(tmp_path: Path) -> MetadataDir:
    return MetadataDir(tmp_path / "data" / "__cluster_metadata-0")


@pytest.fixture
def eager_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)
