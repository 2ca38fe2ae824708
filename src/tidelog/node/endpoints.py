"""Where clients find a broker: the advertised hosts, with the ports that it really has."""

from socket import gethostname

from tidelog.base.listener import Listener
from tidelog.metadata.image.records import Endpoint


def endpoints_of(advertised: tuple[Listener, ...], bound: list[Listener]) -> list[Endpoint]:
    """Returns the addresses for clients: the advertised host, and the real port if port 0 was requested."""
    return [
        Endpoint(listener.name, reachable_host(listener), listener.port or real.port)
        for listener, real in zip(advertised, bound, strict=True)
    ]


def reachable_host(listener: Listener) -> str:
    """A wildcard address is none that a client can connect to."""
    return gethostname() if listener.is_every_interface else listener.host
