"""Why a client will reach no broker, however long it tries: a wrong protocol, certificate or password."""

import re
from dataclasses import dataclass

from tidelog.clients.errors import AuthenticationFailed, ClientError, ConnectionFailed
from tidelog.clients.listener_probe import Listener

AUTHENTICATION = "_AUTHENTICATION"
REFUSALS = ("_SSL", AUTHENTICATION)
"""librdkafka's names for what trying again does not help against."""

_STATE = re.compile(r" \(after \d+ms in state \w+(, \d+ identical error\(s\) suppressed)?\)")
_BROKER = re.compile(r"^(\w+://)?([^/\s]+)/\w+: ")
_SPOKEN = {
    "plaintext": "plain text",
    "ssl": "TLS",
    "sasl_plaintext": "SASL over plain text",
    "sasl_ssl": "SASL over TLS",
}


@dataclass(frozen=True, slots=True)
class Trouble:
    what: str
    cause: str
    setting: str = ""
    """The client property that fits the listener, as NAME=VALUE, where it is known."""
    properties: str = ""
    """Else those to look at; or those that go with the setting."""
    is_about_identity: bool = False

    def as_error(self) -> ClientError:
        name, _, value = self.setting.partition("=")
        attempt = f'pass extra={{"{name}": "{value}"}}' if name else f"check {self.properties} in `extra`"
        attempt += f", with {self.properties}." if name and self.properties else "."
        kind = AuthenticationFailed if self.is_about_identity else ConnectionFailed
        return kind(self.what, cause=self.cause, attempt=attempt)


def mismatch(listener: Listener, protocol: str) -> Trouble:
    """The listener speaks another protocol than the client."""
    wanted = listener.security_protocol
    mechanisms = f" ({', '.join(listener.mechanisms)})" if listener.mechanisms else ""
    return Trouble(
        f"The listener at {listener.address} speaks {_SPOKEN[wanted]}{mechanisms}, "
        f"but the client speaks {_SPOKEN.get(protocol, protocol)}.",
        f"security.protocol={protocol} does not fit this listener.",
        setting=f"security.protocol={wanted}",
        properties="sasl.mechanism, sasl.username and sasl.password" if listener.mechanisms else "",
        is_about_identity=bool(listener.mechanisms) or protocol.startswith("sasl"),
    )


def refusal(name: str, said: str, servers: str) -> Trouble:
    """librdkafka's own words about a certificate or a password."""
    if name == AUTHENTICATION:
        return Trouble(
            f"The broker at {servers} does not let the client in: {said}.",
            "the user, the password or the mechanism is wrong.",
            properties="sasl.username, sasl.password and sasl.mechanism",
            is_about_identity=True,
        )
    return Trouble(
        f"TLS with the broker at {servers} failed: {said}.",
        "a certificate is missing, has expired, or comes from an authority that is not trusted.",
        properties="ssl.ca.location and the other ssl.* properties",
    )


def in_words(said: str) -> str:
    """librdkafka's text without its own names for brokers and states."""
    return _BROKER.sub(r"\2: ", _STATE.sub("", said)).strip().rstrip(".")
