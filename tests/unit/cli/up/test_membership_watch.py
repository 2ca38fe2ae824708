"""Why a cluster would not let a broker in."""

from tidelog.base.config.config import load
from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.up.membership_watch import conflict

CONFIG = load(None, {}, {"node.id": "2", "listeners": "PLAINTEXT://host-9:9092"})


def view(*brokers: Broker) -> ClusterView:
    return ClusterView("c", 1, {broker.id: broker for broker in brokers}, {})


def test_another_one_with_this_id_lives_elsewhere() -> None:
    found = conflict(CONFIG, view(Broker(2, "host-2", 9092)))
    assert found is not None
    assert "Broker 2 is alive already, at host-2:9092." in found.message


def test_its_old_self_is_no_reason() -> None:
    assert conflict(CONFIG, view(Broker(2, "host-9", 9092))) is None
    assert conflict(CONFIG, view(Broker(2, "host-2", 9092, fenced=True))) is None
    assert conflict(CONFIG, view(Broker(1, "host-2", 9092))) is None
