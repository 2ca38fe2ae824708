import pytest

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.config import (
    BrokerConfig,
    ConfigError,
    ConfigSource,
    describe_broker,
    describe_cluster_defaults,
    load,
    parse_broker_overrides,
)
from tidelog.base.config.setting import Dynamic, Scope
from tidelog.base.listener_settings import find_broker_setting, name_for, split_name, why_unknown

TWO = {"listeners": "CLIENTS://localhost:9092,INTERNAL://localhost:9093"}


def test_a_listener_has_its_own_value_and_the_others_the_plain_one() -> None:
    config = load(
        flags=TWO | {"ssl.client.auth": "requested", "listener.name.clients.ssl.client.auth": "none"}
    )
    assert config.for_listener("CLIENTS").text("ssl.client.auth") == "none"
    assert config.for_listener("INTERNAL").text("ssl.client.auth") == "requested"
    assert config.text("ssl.client.auth") == "requested"
    assert config.for_listener("clients") is config.for_listener("CLIENTS")


def test_a_mechanism_beats_its_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = BROKER_SETTINGS["ssl.client.auth"]._replace(scope=Scope.MECHANISM)
    monkeypatch.setitem(BROKER_SETTINGS, wide.name, wide)
    config = load(
        flags=TWO
        | {
            "listener.name.clients.ssl.client.auth": "requested",
            "listener.name.clients.scram-sha-256.ssl.client.auth": "required",
        }
    )
    assert config.for_listener("CLIENTS", "SCRAM-SHA-256").text("ssl.client.auth") == "required"
    assert config.for_listener("CLIENTS", "PLAIN").text("ssl.client.auth") == "requested"
    assert config.for_listener("INTERNAL", "SCRAM-SHA-256").text("ssl.client.auth") == "none"
    env = {"TIDELOG_LISTENER_NAME_CLIENTS_SCRAM_SHA_256_SSL_CLIENT_AUTH": "required"}
    assert load(env=env, flags=TWO).for_listener("CLIENTS", "SCRAM-SHA-256").text("ssl.client.auth") == (
        "required"
    )
    assert "scram is no SASL mechanism" in why_unknown("listener.name.clients.scram.ssl.client.auth")


def test_names_have_parts() -> None:
    assert split_name("listener.name.a.ssl.client.auth") == ("a", None, "ssl.client.auth")
    assert split_name("listener.name.a.plain.sasl.jaas.config") == ("a", "plain", "sasl.jaas.config")
    assert split_name("ssl.client.auth") is None
    assert name_for("x.y", "A", "PLAIN") == "listener.name.a.plain.x.y"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("listener.name.clients.ssl.keystore.locatio", "did you mean listener.name.clients.ssl.keystore.loc"),
        ("listener.name.clients.log.retention.ms", "cannot differ between listeners; use log.retention.ms"),
        ("listener.name.clients.plain.ssl.client.auth", "use listener.name.clients.ssl.client.auth"),
        ("listener.name.CLIENTS.ssl.client.auth", "use listener.name.clients.ssl.client.auth"),
        ("listener.name.clients", "write listener.name.<listener>.<setting>"),
        ("listener.name..ssl.client.auth", "write listener.name.<listener>.<setting>"),
    ],
)
def test_an_unknown_name_behind_a_prefix_is_refused(name: str, reason: str) -> None:
    assert find_broker_setting(name) is None
    with pytest.raises(ConfigError) as refused:
        load(flags=TWO | {name: "none"})
    assert reason in str(refused.value)
    with pytest.raises(ConfigError) as refused:
        parse_broker_overrides({name: "none"}, per_broker=True)
    assert reason in str(refused.value)


def test_a_static_value_for_a_listener_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        load(flags={"listener.name.clients.ssl.client.auth": "none"})
    assert "listeners has no CLIENTS, only PLAINTEXT" in str(refused.value)


def test_a_dynamic_value_may_name_a_listener_of_another_broker() -> None:
    config = BrokerConfig().with_dynamic({}, {"listener.name.far.ssl.client.auth": "required"})
    assert config.for_listener("FAR").text("ssl.client.auth") == "required"


def test_the_plain_name_cannot_change_at_run_time_but_a_listeners_can() -> None:
    assert BROKER_SETTINGS["ssl.keystore.location"].dynamic is Dynamic.PER_LISTENER
    with pytest.raises(ConfigError, match=r"listener\.name\.<listener>\.ssl\.keystore\.location"):
        BrokerConfig().with_dynamic({}, {"ssl.keystore.location": "/new.pem"})
    with pytest.raises(ConfigError, match="name the broker"):
        BrokerConfig().with_dynamic({"listener.name.plaintext.ssl.keystore.location": "/new.pem"}, {})
    name = "listener.name.plaintext.ssl.keystore.location"
    config = BrokerConfig().with_dynamic({}, {name: "/new.pem"})
    assert config.for_listener("PLAINTEXT").text("ssl.keystore.location") == "/new.pem"
    assert config.source(name) is ConfigSource.DYNAMIC_BROKER_CONFIG


def test_the_environment_names_listeners_too() -> None:
    env = {
        "TIDELOG_LISTENER_NAME_CLIENTS_SSL_CLIENT_AUTH": "required",
        "TIDELOG_LISTENERS": TWO["listeners"],
    }
    config = load(env=env)
    assert config.for_listener("CLIENTS").text("ssl.client.auth") == "required"
    assert config.origin("listener.name.clients.ssl.client.auth").endswith("_SSL_CLIENT_AUTH")
    with pytest.raises(ConfigError, match="no such setting"):
        load(env={"TIDELOG_LISTENER_NAME_CLIENTS_LOG_DIRS": "x"})


def test_describe_shows_listeners_values_with_the_plain_one_behind_them() -> None:
    name = "listener.name.clients.ssl.client.auth"
    flags = TWO | {"ssl.client.auth": "requested", "listener.name.clients.ssl.key.password": "secret"}
    broker = load(flags=flags).with_dynamic({}, {name: "required"})
    [entry] = describe_broker(broker, [name])
    assert (entry.value, entry.read_only, entry.source) == (
        "required",
        False,
        ConfigSource.DYNAMIC_BROKER_CONFIG,
    )
    assert [(synonym.name, synonym.value) for synonym in entry.synonyms] == [
        (name, "required"),
        ("ssl.client.auth", "requested"),
        ("ssl.client.auth", "none"),
    ]
    [plain] = describe_broker(broker, ["ssl.client.auth"])
    assert plain.read_only
    [secret] = describe_broker(broker, ["listener.name.clients.ssl.key.password"])
    assert secret.sensitive
    assert "secret" not in repr(secret)
    assert not describe_cluster_defaults(broker)
    assert {name, "listener.name.clients.ssl.key.password"} < {each.name for each in describe_broker(broker)}


def test_brokers_meet_at_the_listener_of_the_protocol() -> None:
    listeners = {"listeners": "PLAINTEXT://localhost:9092,SSL://localhost:9093"}
    assert load(flags=listeners).inter_broker_listener() == "PLAINTEXT"
    protocol = {"security.inter.broker.protocol": "SSL"}
    assert load(flags=listeners | protocol).inter_broker_listener() == "SSL"
    named = {"inter.broker.listener.name": "ssl"}
    assert load(flags=listeners | named).inter_broker_listener() == "SSL"
    with pytest.raises(ConfigError, match="keep one of the two"):
        load(flags=listeners | protocol | named)
    with pytest.raises(ConfigError, match="no listener is named SASL_SSL"):
        load(flags=listeners | {"security.inter.broker.protocol": "SASL_SSL"})
    with pytest.raises(ConfigError, match="is not one of PLAINTEXT"):
        load(flags=listeners | {"security.inter.broker.protocol": "TLS"})


@pytest.mark.parametrize("store", ["ssl.keystore.type", "ssl.truststore.type"])
def test_jks_is_refused_with_the_command_that_converts_it(store: str) -> None:
    with pytest.raises(ConfigError, match="keytool -importkeystore"):
        load(flags={store: "JKS"})
    with pytest.raises(ConfigError, match="is not one of PEM, PKCS12"):
        load(flags={store: "BCFKS"})
