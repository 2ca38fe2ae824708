"""How many brokers divide the limits of a machine."""

from msgspec.structs import replace

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.ids import NodeId
from tidelog.metadata.brokers.cores import cores_of_machine, fenced_cores, started_cores
from tidelog.metadata.image.entities import BrokerImage

FOUR = BrokerConfig({"broker.cores": "4"})


def registered(**machines: str) -> dict[NodeId, BrokerImage]:
    ids = {NodeId(int(name[1:])): machine for name, machine in machines.items()}
    return {id: BrokerImage(id, 0, bytes(16), {}, machine=machine) for id, machine in ids.items()}


def test_cores_that_left_leave_their_share_to_the_others() -> None:
    brokers = registered(b1="m", b1001="m", b2="n", b1002="n")
    assert cores_of_machine(FOUR, brokers, NodeId(1)) == 2
    assert cores_of_machine(FOUR, registered(b1="m"), NodeId(1)) == 1


def test_before_the_broker_is_known_it_goes_by_its_settings() -> None:
    assert cores_of_machine(FOUR, {}, NodeId(1)) == 4
    assert started_cores(BrokerConfig({"broker.cores": "auto"})) == 1


def test_brokers_that_were_started_one_by_one_share_nothing() -> None:
    assert cores_of_machine(BrokerConfig(), registered(b1="m", b2="m"), NodeId(1)) == 1


def test_cores_that_are_away_are_those_of_the_own_machine() -> None:
    fenced = {
        id: replace(broker, fenced=id > 1)
        for id, broker in registered(b1="m", b1001="m", b2001="m", b2="n", b1002="n").items()
    }
    assert fenced_cores(FOUR, fenced, NodeId(1)) == (1001, 2001)
    assert fenced_cores(FOUR, fenced, NodeId(1001)) == (2001,), "it speaks of itself by itself"
    assert fenced_cores(FOUR, {}, NodeId(1)) == ()
    assert fenced_cores(BrokerConfig(), fenced, NodeId(1)) == (), "brokers that share a machine, one by one"
