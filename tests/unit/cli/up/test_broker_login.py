"""With which properties a broker, or its supervisor, asks brokers at their own listener."""

from tidelog.base.config.config import load
from tidelog.base.variables import machine_sources, resolve
from tidelog.blocking.security_options import security_of
from tidelog.cli.up.broker_login import properties_for_brokers

SECURED = {
    "listeners": "CLIENTS://host-9:9092,BROKERS://host-9:9093",
    "inter.broker.listener.name": "BROKERS",
    "ssl.keystore.location": "key.pem",
    "ssl.truststore.location": "ca.pem",
}
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="broker" password="a${env:NOTHING}b";'
)


def secured(protocol: str, **more: str) -> dict[str, str]:
    by_listener = {"listener.security.protocol.map": f"CLIENTS:SASL_SSL,BROKERS:{protocol}"}
    return properties_for_brokers(load(None, {}, SECURED | by_listener | more))


def test_plain_text_needs_nothing() -> None:
    assert properties_for_brokers(load(None, {}, {"listeners": "PLAINTEXT://host-9:9092"})) == {}


def test_the_certificate_of_the_broker() -> None:
    assert secured("SSL") == {
        "security.protocol": "SSL",
        "ssl.keystore.location": "key.pem",
        "ssl.truststore.location": "ca.pem",
        "ssl.endpoint.identification.algorithm": "https",
    }


def test_a_key_with_a_password() -> None:
    assert secured("SSL", **{"ssl.key.password": "x"})["ssl.key.password"] == "x"
    of_store = secured("SSL", **{"listener.name.brokers.ssl.keystore.password": "y"})
    assert of_store["ssl.key.password"] == "y"


def test_the_user_of_the_broker() -> None:
    """A password that looks like a variable is one nevertheless."""
    mechanism = {"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512"}
    login = {"listener.name.brokers.scram-sha-512.sasl.jaas.config": JAAS.replace("${", "$${")}
    found = secured("SASL_PLAINTEXT", **mechanism, **login)
    resolved = {name: resolve(text, machine_sources(environment={})) for name, text in found.items()}
    sasl = security_of(resolved).sasl
    assert sasl is not None
    assert (sasl.mechanism, sasl.username, sasl.password) == ("SCRAM-SHA-512", "broker", "a${env:NOTHING}b")
