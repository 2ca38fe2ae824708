"""Listeners that let in too much: without TLS, without a user, or without certificates between brokers."""

from collections.abc import Iterator

from tidelog.base.listener_settings import name_for
from tidelog.base.security_protocol import SecurityProtocol
from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.security.checks.broker_facts import BrokerFacts, ListenerFacts

GUIDE = "docs/security.md, 'Listeners'"


def check_listeners(broker: BrokerFacts) -> Iterator[CheckFinding]:
    for listener in broker.listeners():
        yield from _CHECKS[listener.protocol](broker, listener)


def _where(broker: BrokerFacts, listener: ListenerFacts) -> str:
    return f"{broker.name}, {listener.listener}"


def _plaintext(broker: BrokerFacts, listener: ListenerFacts) -> Iterator[CheckFinding]:
    yield CheckFinding(
        "plain-listener",
        Severity.SERIOUS,
        _where(broker, listener),
        f"a plain listener, which clients reach {listener.reach}",
        "its clients are User:ANONYMOUS, and everything on it can be read and changed on its way.",
        f"tidelog up --secure on one machine; else listener.security.protocol.map="
        f"{listener.listener.name}:SASL_SSL ({GUIDE})",
    )


def _sasl_plaintext(broker: BrokerFacts, listener: ListenerFacts) -> Iterator[CheckFinding]:
    mechanisms = broker.listener_setting(listener.listener.name, "sasl.enabled.mechanisms", "GSSAPI")
    mend = f"listener.security.protocol.map={listener.listener.name}:SASL_SSL ({GUIDE})"
    if "PLAIN" in {mechanism.strip() for mechanism in mechanisms.split(",")}:
        yield CheckFinding(
            "passwords-in-the-clear",
            Severity.SERIOUS,
            _where(broker, listener),
            "PLAIN without TLS",
            "passwords travel as they are: every reader of the network learns them.",
            mend,
        )
    yield CheckFinding(
        "sasl-without-tls",
        Severity.MEDIUM,
        _where(broker, listener),
        "users log in, but nothing is encrypted",
        "records can be read and changed on their way, and a connection can be taken over.",
        mend,
    )


def _ssl(broker: BrokerFacts, listener: ListenerFacts) -> Iterator[CheckFinding]:
    name = listener.listener.name
    demand = broker.listener_setting(name, "ssl.client.auth", "none").lower()
    if demand == "required":
        return
    setting = f"listener.name.{name.lower()}.ssl.client.auth=required"
    if listener.is_inter_broker:
        yield CheckFinding(
            "brokers-without-certificates",
            Severity.SERIOUS,
            _where(broker, listener),
            f"brokers meet here, and ssl.client.auth is {demand}",
            "any client that reaches the listener is let in where only brokers belong.",
            f"{setting}, with certificates of tidelog security cert issue --broker ID",
        )
    else:
        yield CheckFinding(
            "anonymous-tls",
            Severity.MEDIUM,
            _where(broker, listener),
            f"encrypted, but ssl.client.auth is {demand}",
            "clients without a certificate are let in as User:ANONYMOUS.",
            f"{setting}; or {name}:SASL_SSL in listener.security.protocol.map",
        )


def _sasl_ssl(broker: BrokerFacts, listener: ListenerFacts) -> Iterator[CheckFinding]:
    """Certificates count beside passwords only where they are set for the listener itself (KIP-684)."""
    name = "ssl.client.auth"
    own = name_for(name, listener.listener.name)
    demand = broker.setting(name, "none").lower()
    if demand != "none" and own not in broker.settings:
        yield CheckFinding(
            "client-auth-without-effect",
            Severity.LOW,
            _where(broker, listener),
            f"{name}={demand} does not count here: clients log in by SASL",
            "clients without a certificate are let in, where the setting looks as if they were not.",
            f"{own}={demand}",
        )


_CHECKS = {
    SecurityProtocol.PLAINTEXT: _plaintext,
    SecurityProtocol.SASL_PLAINTEXT: _sasl_plaintext,
    SecurityProtocol.SSL: _ssl,
    SecurityProtocol.SASL_SSL: _sasl_ssl,
}
