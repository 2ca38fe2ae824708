from tidelog.base.ids import uuid_text
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import (
    BrokerChanged,
    BrokerRegistered,
    ClusterCreated,
    ConfigChanged,
    Endpoint,
    PartitionChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    ResourceKind,
    TopicCreated,
)
from tidelog.metadata.store.snapshot import decode_snapshot, encode_snapshot
from tidelog.raft.entries import Configuration, Voter

ID = uuid_text(bytes(15) + b"\x01")
VOTERS = Configuration((Voter(1, "a:9092"),))
FULL = advance(
    ClusterImage(),
    [
        ClusterCreated("c"),
        BrokerRegistered(1, 4, ID, (Endpoint("A", "h", 1), Endpoint("B", "h", 2, "SSL")), "rack", (ID, ID)),
        BrokerRegistered(2, 5, ID, (Endpoint("A", "h", 3),), machine="m"),
        BrokerChanged(1, 4, fenced=True, shutting_down=True),
        ConfigChanged(ResourceKind.BROKER, "", "log.retention.ms", "7"),
        ConfigChanged(ResourceKind.CLIENT_METRICS, "s", "metrics", "*"),
        TopicCreated("a", ID),
        ConfigChanged(ResourceKind.TOPIC, "a", "retention.ms", "7"),
        PartitionCreated(ID, 0, (1, 2), (1,), 1, directories=(ID, ID)),
        PartitionChanged(
            ID,
            0,
            3,
            leader=-1,
            leader_epoch=2,
            replicas=(1, 2, 3),
            adding=(3,),
            removing=(2,),
            directories=(),
        ),
        ProducerIdsAllocated(1, 5000),
    ],
).after


def test_records_of_an_image_lead_back_to_it():
    assert advance(ClusterImage(), image_records(FULL)).after == FULL


def test_full_image_survives_a_snapshot():
    assert decode_snapshot(encode_snapshot(FULL, 77, 5, VOTERS, 1)).image == FULL
