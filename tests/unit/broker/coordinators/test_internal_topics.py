"""How many replicas the topics of coordinators get."""

from types import SimpleNamespace

import pytest

from tidelog.base.ids import uuid_text
from tidelog.broker.coordinators.internal_topics import InternalTopics
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import BrokerRegistered


def usual_factor(machines, voters):
    records = [
        BrokerRegistered(id, id, uuid_text(id.to_bytes(16, "big")), (), machine=machine)
        for id, machine in machines.items()
    ]
    raft = SimpleNamespace(configuration=SimpleNamespace(voters=[SimpleNamespace(id=id) for id in voters]))
    metadata = SimpleNamespace(
        image=advance(ClusterImage(), records).after, quorum=SimpleNamespace(raft=raft)
    )
    return InternalTopics(metadata, None)._usual_factor()


@pytest.mark.parametrize(
    ("machines", "voters", "replicas"),
    [
        ({1: None}, [1], 1),
        ({1: None, 2: None, 3: None, 4: None}, [1], 3),
        ({1: None}, [1, 2, 3], 3),
        ({1: "a", 1001: "a", 2001: "a"}, [1], 1),
        ({1: "a", 1001: "a", 2: "b", 1002: "b"}, [1, 2], 2),
        ({1: "a", 1001: "a"}, [1, 1001], 1),
    ],
)
def test_one_replica_a_machine_up_to_three(machines, voters, replicas):
    assert usual_factor(machines, voters) == replicas
