"""What one listener with SASL demands: its mechanisms, users, limits, and threads for slow steps."""

import base64
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.error import ConfigError, Problem
from tidelog.base.config.values import ConfigValues
from tidelog.base.ports import Clock, Random
from tidelog.broker.security.token_users import TokenUsers
from tidelog.broker.security.unknown_users import SALT_BYTES, secret_of
from tidelog.broker.security.users import NO_USERS, Users
from tidelog.broker.security.users_file import UsersFile
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.security import SecurityImage
from tidelog.security.sasl.conversation import Conversation
from tidelog.security.sasl.jaas import JaasError, LoginModule, LoginModuleKind, parse_jaas
from tidelog.security.sasl.oauthbearer_server import OauthBearerServer
from tidelog.security.sasl.plain_server import PlainServer
from tidelog.security.sasl.scram_credential import ScramMechanism
from tidelog.security.sasl.scram_server import ScramServer
from tidelog.security.sasl.users_file import UsersFileError

NONCE_BYTES = 18


class RunSlow(Protocol):
    def __call__(self, job: Callable[[], bytes], /) -> Awaitable[bytes]:
        """Run a step on a thread; TidelogError if too many wait already."""
        ...


class Mechanism(NamedTuple):
    begin: Callable[[], Conversation]
    run_slow: RunSlow
    reauth_ms: int
    """0: as long as the token is valid, or for ever."""


class SaslListener(NamedTuple):
    mechanisms: dict[str, Mechanism]
    frame_bytes_max: int
    """Of a request before its connection is authenticated."""
    seconds: float
    """In which a connection must be authenticated."""
    delay_seconds: float
    """Before a failure is answered, at the least."""


class Parts(NamedTuple):
    """What the listeners of a broker share."""

    config: BrokerConfig
    image: Callable[[], ClusterImage]
    clock: Clock
    random: Random
    run_password: RunSlow
    run_token: RunSlow
    inter_broker_listener: str


def sasl_listeners(parts: Parts) -> dict[str, SaslListener]:
    """By name; those without SASL are not in it. Raises ConfigError."""
    protocols = parts.config.security_protocols()
    return {name: _listener(name, parts) for name, protocol in protocols.items() if protocol.is_sasl}


def _listener(name: str, parts: Parts) -> SaslListener:
    config = parts.config
    values = config.for_listener(name)
    try:
        mechanisms = {
            mechanism: _mechanism(mechanism, name, parts)
            for mechanism in values.list("sasl.enabled.mechanisms")
        }
    except (JaasError, UsersFileError, OSError) as error:
        setting = "sasl.jaas.config" if isinstance(error, JaasError) else "sasl.users.file"
        raise ConfigError([Problem(setting, f"for the listener {name}: {error}")]) from error
    return SaslListener(
        mechanisms,
        config.int("sasl.server.max.receive.size"),
        config.int("connections.authentication.timeout.ms") / 1000,
        config.int("connection.failed.authentication.delay.ms") / 1000,
    )


def _mechanism(mechanism: str, listener: str, parts: Parts) -> Mechanism:
    values = parts.config.for_listener(listener, mechanism)
    reauth_ms = values.int("connections.max.reauth.ms")
    if mechanism == "OAUTHBEARER":
        return Mechanism(oauthbearer(values, parts), parts.run_token, reauth_ms)
    users = users_of(mechanism, listener, values, parts)
    if mechanism == "PLAIN":
        return Mechanism(
            lambda: PlainServer(users.is_password, users.is_configured), parts.run_password, reauth_ms
        )
    kind = ScramMechanism.by_name(mechanism)
    assert kind is not None, mechanism  # the setting knows no others

    def begin() -> ScramServer:
        return ScramServer(
            kind,
            lambda name, is_token: users.find(kind, name, is_token),
            nonce=base64.b64encode(parts.random.bytes(NONCE_BYTES)).decode(),
            unknown=lambda name: users.unknown.credential(kind, name),
        )

    return Mechanism(begin, parts.run_password, reauth_ms)


def users_of(mechanism: str, listener: str, values: ConfigValues, parts: Parts) -> Users:
    module = _login_module(mechanism, values)
    file = values.text("sasl.users.file")
    own = None
    if module is not None and listener == parts.inter_broker_listener and not module.is_token:
        own = (module.username, module.password) if module.username and module.password else None
    tokens = values.optional_text("delegation.token.secret.key")

    def security() -> SecurityImage:
        return parts.image().security

    return Users(
        security,
        secret=lambda: secret_of(parts.image()),
        own=own,
        own_salt=parts.random.bytes(SALT_BYTES),
        passwords=module.users if module is not None and module.kind is LoginModuleKind.PLAIN else {},
        from_file=UsersFile(file, parts.clock.monotonic).users if file else lambda: NO_USERS,
        find_token=(
            TokenUsers(security, tokens.encode(), parts.clock.now_ms).find
            if tokens
            else lambda kind, name: None
        ),
    )


def _login_module(mechanism: str, values: ConfigValues) -> LoginModule | None:
    """Raises JaasError. A text for all mechanisms may name the module of another one."""
    text = values.optional_text("sasl.jaas.config")
    if not text:
        return None
    module = parse_jaas(text)
    return module if module.kind is LoginModuleKind.of_mechanism(mechanism) else None


def oauthbearer(values: ConfigValues, parts: Parts) -> Callable[[], Conversation]:
    from tidelog.broker.security.token_keys import KeyTimes, TokenKeys  # only clusters with tokens need it
    from tidelog.security.jwt import TokenRules

    def seconds(name: str) -> float:
        return values.int(f"sasl.oauthbearer.jwks.endpoint.{name}") / 1000

    url = values.text("sasl.oauthbearer.jwks.endpoint.url")
    if not url:
        raise ConfigError(
            [Problem("sasl.oauthbearer.jwks.endpoint.url", "OAUTHBEARER needs the keys of its tokens")]
        )
    rules = TokenRules(
        issuer=values.text("sasl.oauthbearer.expected.issuer") or None,
        audiences=tuple(values.list("sasl.oauthbearer.expected.audience")),
        scope_claim=values.text("sasl.oauthbearer.scope.claim.name"),
        subject_claim=values.text("sasl.oauthbearer.sub.claim.name"),
        required_scopes=tuple(values.list("sasl.oauthbearer.required.scopes")),
        clock_skew_s=values.int("sasl.oauthbearer.clock.skew.seconds"),
    )
    times = KeyTimes(seconds("refresh.ms"), seconds("retry.backoff.ms"), seconds("retry.backoff.max.ms"))
    keys = TokenKeys(url, rules, times, monotonic=parts.clock.monotonic, now_ms=parts.clock.now_ms)
    return lambda: OauthBearerServer(keys.verify)
