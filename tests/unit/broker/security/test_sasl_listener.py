"""Listeners with SASL as the configuration describes them, and what keeps a broker from starting."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.rigs.sasl import client_of
from tests.rigs.virtual_time import run
from tidelog.base.config.config import load
from tidelog.base.config.error import ConfigError
from tidelog.broker.security.authentication import Authentication, NotChecked
from tidelog.broker.security.sasl_listener import Parts, SaslListener, sasl_listeners
from tidelog.metadata.image.image import ClusterImage
from tidelog.security.sasl.conversation import AuthenticationFailed
from tidelog.security.sasl.scram_credential import ScramMechanism, new_credential
from tidelog.security.sasl.users_file import users_file_line
from tidelog.server.clock import SystemRandom
from tidelog.server.disk_threads import DiskThreadsBusy

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
LISTENERS = "BROKERS://127.0.0.1:1,CLIENTS://127.0.0.1:2,OPEN://127.0.0.1:3"
PROTOCOLS = "BROKERS:SASL_PLAINTEXT,CLIENTS:SASL_PLAINTEXT,OPEN:PLAINTEXT"


class StillClock:
    def now_ms(self) -> int:
        return 0

    def monotonic(self) -> float:
        return 0.0


async def at_once(job: Callable[[], bytes]) -> bytes:
    return job()


def listeners(
    settings: dict[str, str], run_slow: Callable[..., Awaitable[bytes]] = at_once
) -> dict[str, SaslListener]:
    given = {"listeners": LISTENERS, "listener.security.protocol.map": PROTOCOLS, **settings}
    config = load(flags=given)
    parts = Parts(config, ClusterImage, StillClock(), SystemRandom(), run_slow, run_slow, "BROKERS")
    return sasl_listeners(parts)


def gets_in(listener: SaslListener, mechanism: str, user: str, password: str) -> bool:
    async def scenario() -> bool:
        authentication = Authentication(listener, StillClock())
        authentication.begin(mechanism, raw=False)
        exchange = client_of(mechanism, user, password)
        message = next(exchange)
        while authentication.is_under_way:
            try:
                step = await authentication.respond(message)
                message = exchange.send(step.token)
            except StopIteration:
                pass
            except AuthenticationFailed:
                return False
        return authentication.result is not None

    return run(scenario())


def test_only_listeners_with_sasl_are_here_with_their_mechanisms() -> None:
    made = listeners(
        {
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.clients.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.clients.plain.connections.max.reauth.ms": "5000",
            "sasl.server.max.receive.size": "1000",
        }
    )
    assert {name: list(each.mechanisms) for name, each in made.items()} == {
        "BROKERS": ["SCRAM-SHA-512"],
        "CLIENTS": ["PLAIN", "SCRAM-SHA-256"],
    }
    assert made["CLIENTS"].mechanisms["PLAIN"].reauth_ms == 5000
    assert made["CLIENTS"].mechanisms["SCRAM-SHA-256"].reauth_ms == 0
    assert made["CLIENTS"].frame_bytes_max == 1000


@pytest.mark.parametrize(("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM)])
def test_the_brokers_own_user_is_known_among_brokers_alone(mechanism: str, module: str) -> None:
    made = listeners(
        {
            "sasl.enabled.mechanisms": mechanism,
            "sasl.jaas.config": f'{module} required username="broker" password="own-secret" user_ann="x";',
        }
    )
    assert gets_in(made["BROKERS"], mechanism, "broker", "own-secret")
    assert not gets_in(made["BROKERS"], mechanism, "broker", "other")
    assert not gets_in(made["CLIENTS"], mechanism, "broker", "own-secret")
    assert gets_in(made["CLIENTS"], mechanism, "ann", "x") is (mechanism == "PLAIN")


def test_a_listener_and_mechanism_may_have_a_login_module_of_its_own() -> None:
    made = listeners(
        {
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.jaas.config": f'{PLAIN} required user_ann="x";',
            "listener.name.clients.plain.sasl.jaas.config": f'{PLAIN} required user_bob="y";',
        }
    )
    assert gets_in(made["BROKERS"], "PLAIN", "ann", "x")
    assert gets_in(made["CLIENTS"], "PLAIN", "bob", "y")
    assert not gets_in(made["CLIENTS"], "PLAIN", "ann", "x")


def test_users_come_from_a_file(tmp_path: Path) -> None:
    kind = ScramMechanism.SHA_256
    path = tmp_path / "users"
    path.write_text(users_file_line("dave", kind, new_credential(kind, "dave-secret", b"salt" * 4)))
    made = listeners({"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256", "sasl.users.file": str(path)})
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        assert gets_in(made["CLIENTS"], mechanism, "dave", "dave-secret")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"sasl.jaas.config": 'Wrong required password="s3cret";'}, "sasl.jaas.config: for the listener"),
        ({"sasl.users.file": "/no/such/file"}, "sasl.users.file: for the listener.*No such file"),
        ({"sasl.enabled.mechanisms": "OAUTHBEARER"}, "sasl.oauthbearer.jwks.endpoint.url"),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "not one of PLAIN"),
        ({"sasl.enabled.mechanisms": ""}, "at least one mechanism"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "ftp://x/keys"}, "expected https://"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "file://relative/keys"}, "expected https://"),
    ],
)
def test_what_keeps_a_broker_from_starting(settings: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as raised:
        listeners(settings)
    assert "s3cret" not in str(raised.value)


def test_threads_that_are_too_busy_do_not_refuse_a_password() -> None:
    async def busy(job: Callable[[], bytes]) -> bytes:
        raise DiskThreadsBusy("1000 jobs are waiting")

    made = listeners({"sasl.enabled.mechanisms": "PLAIN"}, busy)
    with pytest.raises(NotChecked, match="1000 jobs"):
        gets_in(made["CLIENTS"], "PLAIN", "ann", "x")


def test_a_token_outside_of_an_exchange() -> None:
    async def scenario() -> None:
        authentication = Authentication(listeners({})["CLIENTS"], StillClock())
        with pytest.raises(AuthenticationFailed, match="outside of an exchange"):
            await authentication.respond(b"n,,n=x,r=y")

    run(scenario())
