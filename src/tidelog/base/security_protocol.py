"""Security protocols: what a listener demands of its clients, by Kafka's names."""

from collections.abc import Sequence
from enum import Enum


class SecurityProtocol(Enum):
    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def is_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def is_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)

    def demands_all_of(self, other: "SecurityProtocol") -> bool:
        return self.is_tls >= other.is_tls and self.is_sasl >= other.is_sasl


PROTOCOL_NAMES = tuple(protocol.value for protocol in SecurityProtocol)

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""Every mechanism that a listener can offer."""


def parse_protocol_map(pairs: Sequence[str]) -> dict[str, SecurityProtocol]:
    """`INTERNAL:SSL` and so on, by listener name. ValueError with a reason a person can act on."""
    protocols: dict[str, SecurityProtocol] = {}
    for pair in pairs:
        name, colon, protocol = (part.strip().upper() for part in pair.partition(":"))
        if not name or not colon or protocol not in PROTOCOL_NAMES:
            known = ", ".join(PROTOCOL_NAMES)
            raise ValueError(
                f"{pair!r} is not NAME:PROTOCOL, such as CLIENTS:SASL_SSL; protocols are {known}"
            )
        if name in protocols:
            raise ValueError(f"{name} is named twice")
        protocols[name] = SecurityProtocol(protocol)
        if name in PROTOCOL_NAMES and not protocols[name].demands_all_of(SecurityProtocol(name)):
            raise ValueError(f"a listener that is named {name} cannot speak {protocol}; give it another name")
    return protocols


def protocols_of(listeners: Sequence[str], pairs: Sequence[str]) -> dict[str, SecurityProtocol]:
    """The protocol of each listener, by name. ValueError for a listener that has none.

    Without a map, a listener that is named as a protocol speaks that protocol, and any other name means
    PLAINTEXT, unless another listener is secured: there a forgotten entry must not open a door.
    """
    given = parse_protocol_map(pairs)
    by_name = {name: SecurityProtocol(name) for name in listeners if name in PROTOCOL_NAMES}
    protocols = by_name | given
    is_secured = any(
        protocols[name] is not SecurityProtocol.PLAINTEXT for name in listeners if name in protocols
    )
    for name in listeners:
        if name not in protocols:
            if given or is_secured:
                raise ValueError(
                    f"no protocol is given for the listener {name}; add {name}:SASL_SSL, for example"
                )
            protocols[name] = SecurityProtocol.PLAINTEXT
    return {name: protocols[name] for name in listeners}
