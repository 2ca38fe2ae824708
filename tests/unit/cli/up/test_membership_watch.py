"""Why a cluster would not let a broker in."""

from tidelog.base.config.config import load
from tidelog.cli.cluster.view import Broker, ClusterView
from tidelog.cli.up.membership_watch import conflict, properties_for_brokers

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


SECURED = {
    "listeners": "CLIENTS://host-9:9092,BROKERS://host-9:9093",
    "inter.broker.listener.name": "BROKERS",
    "ssl.keystore.location": "key.pem",
    "ssl.truststore.location": "ca.pem",
}


def secured(protocol: str, **more: str) -> dict[str, str] | None:
    by_listener = {"listener.security.protocol.map": f"CLIENTS:SASL_SSL,BROKERS:{protocol}"}
    return properties_for_brokers(load(flags=SECURED | by_listener | more))


def test_it_looks_with_the_certificate_of_the_broker() -> None:
    assert properties_for_brokers(CONFIG) == {}
    assert secured("SSL") == {
        "security.protocol": "SSL",
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "key.pem",
        "ssl.key.location": "key.pem",
    }


def test_it_does_not_look_where_it_cannot_log_in() -> None:
    assert secured("SASL_SSL") is None
    assert secured("SSL", **{"ssl.key.password": "x"}) is None
