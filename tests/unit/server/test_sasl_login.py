import pytest

from tidelog.base.config.config import ConfigError, load
from tidelog.server.clock import SystemRandom
from tidelog.server.peer_connections.sasl_login import SaslLogin

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="b" password="secret";'
PLAIN = SCRAM.replace("scram.Scram", "plain.Plain")
LISTENER = {
    "listeners": "BROKERS://localhost:9093",
    "listener.security.protocol.map": "BROKERS:SASL_PLAINTEXT",
}
OF_SCRAM = "listener.name.brokers.scram-sha-256.sasl.jaas.config"
MECHANISM = "sasl.mechanism.inter.broker.protocol"


def login(**settings: str) -> SaslLogin:
    return SaslLogin.of(load(flags=LISTENER | settings), SystemRandom())


def test_the_user_of_the_mechanism_of_the_listener() -> None:
    found = login(**{OF_SCRAM: SCRAM, "sasl.jaas.config": PLAIN})
    assert (found._username, found._password, found._mechanism) == ("b", "secret", "SCRAM-SHA-256")
    assert login(**{"sasl.jaas.config": PLAIN, MECHANISM: "PLAIN"})._username == "b"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, f"{OF_SCRAM}: the user as which this broker logs in at others by SCRAM-SHA-256 is not set"),
        ({OF_SCRAM: PLAIN}, "the login module does not fit SCRAM-SHA-256"),
        (
            {OF_SCRAM: SCRAM.replace('password="secret"', "")},
            "username and password of this broker are missing",
        ),
        ({OF_SCRAM: SCRAM.rstrip(";")}, "has no ; at the end"),
        ({MECHANISM: "OAUTHBEARER"}, "brokers do not fetch tokens; choose SCRAM-SHA-256"),
    ],
)
def test_what_is_missing_is_named(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        login(**settings)
    assert reason in str(refused.value)
    assert "secret" not in str(refused.value)
