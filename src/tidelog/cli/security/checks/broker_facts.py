"""A broker as its settings describe it, whether the broker itself told them or a file."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.base.listener import Listener, parse_listener
from tidelog.base.security_protocol import PROTOCOL_NAMES, SecurityProtocol, parse_protocol_map

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class ListenerFacts:
    listener: Listener
    advertised: Listener
    protocol: SecurityProtocol
    is_inter_broker: bool

    @property
    def reach(self) -> str:
        if self.listener.is_every_interface:
            return "from every network that this machine is in"
        return "from this machine" if self.listener.host in LOOPBACK else f"at {self.listener.host}"


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    name: str
    """Such as `broker 1`, or the path of a file."""
    settings: Mapping[str, str]
    host: str = "localhost"
    """Under which the cluster knows it."""

    def setting(self, name: str, default: str = "") -> str:
        return self.settings.get(name) or default

    def listener_setting(self, listener: str, name: str, default: str = "") -> str:
        """The listener's own value counts before the broker's."""
        return self.settings.get(f"listener.name.{listener.lower()}.{name}") or self.setting(name, default)

    def listeners(self) -> list[ListenerFacts]:
        listening = _parsed(self.setting("listeners", "PLAINTEXT://localhost:9092"))
        advertised = {found.name: found for found in _parsed(self.setting("advertised.listeners"))}
        protocols = parse_protocol_map(_items(self.setting("listener.security.protocol.map")))
        names = [listener.name for listener in listening]
        between = self.setting("inter.broker.listener.name", self.setting("security.inter.broker.protocol"))
        return [
            ListenerFacts(
                listener,
                advertised.get(listener.name, listener)
                if not (listener.is_every_interface and listener.name not in advertised)
                else listener._replace(host=self.host),
                protocols.get(listener.name) or _by_name(listener.name),
                listener.name == (between or names[0]),
            )
            for listener in listening
        ]


def _parsed(text: str) -> list[Listener]:
    return [parse_listener(item) for item in _items(text)]


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _by_name(name: str) -> SecurityProtocol:
    return SecurityProtocol(name) if name in PROTOCOL_NAMES else SecurityProtocol.PLAINTEXT
