"""Settings pasted from a Java client work with librdkafka, or are refused with the name of the right one."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)

from tidelog import AdminConfig
from tidelog.clients.errors import ConfigurationError
from tidelog.clients.security_names import for_librdkafka
from tidelog.security.tls.authority import Authority, Issued

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer"
AUTHORITY = Authority.new("test", datetime.now(UTC))
CLIENT = AUTHORITY.issue("ann", datetime.now(UTC))


def bundle(path: Path, issued: Issued, password: str) -> str:
    path.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"client",
            load_pem_private_key(issued.key, None),  # type: ignore[arg-type]
            x509.load_pem_x509_certificate(issued.certificate),
            None,
            BestAvailableEncryption(password.encode()),
        )
    )
    return str(path)


def accepted(properties: dict[str, str]) -> dict[str, str]:
    """librdkafka itself takes what comes out."""
    made = for_librdkafka({"bootstrap.servers": "localhost:1", "log_level": 0, **properties})
    Producer(made)
    return made


def test_librdkafka_s_own_names_stay() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "a"}
    assert for_librdkafka(given) == given


def test_a_login_module() -> None:
    made = accepted(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{SCRAM} required username="ann" password="x";',
            "ssl.endpoint.identification.algorithm": "",
            "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
        }
    )
    assert (made["sasl.username"], made["sasl.password"]) == ("ann", "x")
    assert made["ssl.endpoint.identification.algorithm"] == "none"


def test_stores_in_pem(tmp_path: Path) -> None:
    trust, keys = tmp_path / "trust.pem", tmp_path / "keys.pem"
    trust.write_bytes(AUTHORITY.pem.certificate)
    keys.write_bytes(CLIENT.key + CLIENT.certificate)
    made = accepted(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(trust),
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": str(keys),
            "ssl.keystore.type": "PEM",
        }
    )
    assert made["ssl.ca.location"] == str(trust)
    assert made["ssl.certificate.location"] == made["ssl.key.location"] == str(keys)


def test_stores_in_pkcs12(tmp_path: Path) -> None:
    store = bundle(tmp_path / "client.p12", CLIENT, "changeit")
    made = accepted(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": store,
            "ssl.truststore.password": "changeit",
            "ssl.keystore.location": store,
            "ssl.keystore.password": "changeit",
            "ssl.keystore.type": "PKCS12",
        }
    )
    assert made["ssl.ca.pem"].startswith("-----BEGIN CERTIFICATE")
    assert made["ssl.key.pem"].startswith("-----BEGIN PRIVATE KEY")


def test_texts() -> None:
    made = accepted(
        {
            "security.protocol": "SSL",
            "ssl.truststore.certificates": AUTHORITY.pem.certificate.decode(),
            "ssl.keystore.certificate.chain": CLIENT.certificate.decode(),
            "ssl.keystore.key": CLIENT.key.decode(),
        }
    )
    assert made["ssl.ca.pem"] == AUTHORITY.pem.certificate.decode()


def test_tokens_by_the_java_client_s_names() -> None:
    made = accepted(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{OAUTH}.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": "https://id.example.net/token",
            "sasl.jaas.config": f'{OAUTH}.OAuthBearerLoginModule required clientId="a" clientSecret="b";',
        }
    )
    assert made["sasl.oauthbearer.method"] == "oidc"
    assert made["sasl.oauthbearer.client.secret"] == "b"


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"key.serializer": "x.StringSerializer"}, "pass key_serializer to the producer"),
        ({"ssl.provider": "x"}, "ssl.provider is a setting of the Java client alone"),
        ({"ssl.protocol": "SSLv3"}, "a version of TLS that is broken"),
        ({"sasl.jaas.config": 'x.Module required password="hunter2";'}, "names x.Module as its login module"),
        ({"sasl.jaas.config": f'{SCRAM} required password="hunter2" tokenauth=true;'}, "delegation token"),
        ({"sasl.login.callback.handler.class": "x.Handler"}, "sasl.oauthbearer.token.endpoint.url"),
        ({"ssl.truststore.location": "/none.pem"}, "ssl.truststore.location=/none.pem cannot be read"),
    ],
)
def test_what_has_no_counterpart_is_refused(properties: dict[str, str], says: str) -> None:
    config = AdminConfig(bootstrap_servers="localhost:1", extra=properties)
    with pytest.raises(ConfigurationError) as refusal:
        config.to_librdkafka()
    assert says in str(refusal.value)
    assert "hunter2" not in str(refusal.value)
