"""The client properties with which this broker, or its supervisor, gets past the brokers' own listener."""

import re

from tidelog.base.config.config import BrokerConfig

_VARIABLE = re.compile(r"\$\{[^}]*\}")
_TLS = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
)


def properties_for_brokers(config: BrokerConfig) -> dict[str, str]:
    """By Java's names: what the broker itself uses to log in at others."""
    listener = config.inter_broker_listener()
    protocol = config.security_protocols()[listener]
    if not (protocol.is_tls or protocol.is_sasl):
        return {}
    made: dict[str, str | None] = {"security.protocol": protocol.name}
    if protocol.is_tls:
        own = config.for_listener(listener)
        made |= {name: own.optional_text(name) for name in _TLS}
        # A key in PEM may be encrypted with either.
        made["ssl.key.password"] = own.optional_text("ssl.key.password") or made["ssl.keystore.password"]
        name = "ssl.endpoint.identification.algorithm"
        made[name] = own.text(name)
    if protocol.is_sasl:
        mechanism = config.text("sasl.mechanism.inter.broker.protocol")
        login = config.for_listener(listener, mechanism).optional_text("sasl.jaas.config")
        made |= {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
    # Variables are resolved already; what looks like one is part of a password.
    return {name: _VARIABLE.sub(r"$\g<0>", text) for name, text in made.items() if text is not None}
