"""What every client's configuration has: the brokers, a name, patience, any librdkafka property in `extra`.

Configurations are frozen and refuse contradictions when they are made, so that a mistake shows where it
was written and not at the first record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Self, TypeVar

from tidelog.clients.config_mapping import read_properties
from tidelog.clients.errors import ConfigurationError
from tidelog.clients.security_names import for_librdkafka

Word = TypeVar("Word", bound=Enum)

INT32_MAX = 2_147_483_647

# librdkafka knows some properties by two names; both mean the same field.
SECOND_NAMES = {
    "metadata.broker.list": "bootstrap.servers",
    "request.required.acks": "acks",
    "queue.buffering.max.ms": "linger.ms",
    "compression.codec": "compression.type",
    "delivery.timeout.ms": "message.timeout.ms",
    "retries": "message.send.max.retries",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
}

KEPT_BY_THE_CLIENT = {
    "enable.auto.offset.store": "the consumer stores the offset of a message when it has been handled",
}


@dataclass(frozen=True, kw_only=True)
class ClientConfig:
    """What the configurations of all clients share.

    Attributes:
        bootstrap_servers: Brokers to contact first, as `["host:port", ...]` or as text with commas. The
            client learns of the others from them, so one that is up is enough.
        client_id: The name that the broker's log, metrics and quotas know this client by.
        request_timeout_ms: How long a call waits for the brokers' answer.
        extra: Any further property of librdkafka under its own name, such as
            `{"security.protocol": "ssl", "ssl.ca.location": "ca.pem"}`. Security settings of the Java client,
            such as `sasl.jaas.config` and `ssl.truststore.location`, are translated. A property that a field
            stands for is refused here.
    """

    bootstrap_servers: Sequence[str] | str
    client_id: str = "tidelog"
    request_timeout_ms: int = 30_000
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __init_subclass__(cls) -> None:
        """`help()` shows every setting of a configuration, the shared ones too."""
        super().__init_subclass__()
        if cls.__doc__ and ClientConfig.__doc__:  # `python -OO` has neither
            own, heading, settings = cls.__doc__.partition("Attributes:")
            shared = ClientConfig.__doc__.partition(heading)[2].rstrip()
            cls.__doc__ = own + heading + shared + settings

    def __post_init__(self) -> None:
        servers = self.bootstrap_servers
        parts = servers.split(",") if isinstance(servers, str) else servers
        self._replace("bootstrap_servers", tuple(filter(None, (part.strip() for part in parts))))
        self._replace("extra", MappingProxyType(dict(self.extra)))
        if not self.bootstrap_servers:
            raise refused(
                "bootstrap_servers is empty.", 'name at least one broker, such as "localhost:9092".'
            )
        self._between("request_timeout_ms", 10, 300_000)
        self._check()
        self._check_extra()

    @classmethod
    def of(cls, given: Self | Mapping[str, Any]) -> Self:
        """A configuration from what a client was given: itself, or a dict.

        The names in a dict are Kafka's and librdkafka's (`linger.ms`) or those of the fields (`linger_ms`).

        Args:
            given: A configuration of this class, or a dict.

        Raises:
            ConfigurationError: A name or value is not accepted.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            return cls(**read_properties(cls, given))
        raise ConfigurationError(
            f"{cls.__name__} or a dict is wanted, not {type(given).__name__}.",
            cause="the client's first argument is something else.",
            attempt=f'pass {cls.__name__}(bootstrap_servers="localhost:9092"), '
            'or {"bootstrap.servers": "localhost:9092"}.',
        )

    def to_librdkafka(self) -> dict[str, Any]:
        """Returns all settings under librdkafka's names, as `confluent_kafka.Producer(...)` takes them."""
        known = {name: value for name, value in self._properties().items() if value is not None}
        return for_librdkafka({**known, **self.extra})

    def _check(self) -> None:
        """The rules of one kind of client."""

    def _properties(self) -> dict[str, Any]:
        """The fields by librdkafka's names; None is left out."""
        return {
            "bootstrap.servers": ",".join(self.bootstrap_servers),
            "client.id": self.client_id,
            "socket.timeout.ms": max(self.request_timeout_ms, 10_000),
        }

    def _check_extra(self) -> None:
        known = {name for name, value in self._properties().items() if value is not None}
        for name in self.extra:
            if name in KEPT_BY_THE_CLIENT:
                raise refused(f"extra may not set {name}: {KEPT_BY_THE_CLIENT[name]}.", "leave it out.")
            if SECOND_NAMES.get(name, name) in known:
                raise refused(
                    f"extra sets {name}, which a field of {type(self).__name__} says already.",
                    "use the field, so that both cannot disagree.",
                )

    def _between(self, name: str, low: int, high: int = INT32_MAX) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, int):
            raise refused(f"{name}={value!r} is not a whole number.", f"use {low:_} to {high:_}.")
        if not low <= value <= high:
            raise refused(f"{name}={value:_} is out of bounds.", f"use {low:_} to {high:_}.")

    def _word(self, name: str, kind: type[Word]) -> None:
        """Take the enum's member, or its text: CompressionType.ZSTD and "zstd" are the same."""
        value = getattr(self, name)
        if value is None or isinstance(value, kind):
            return
        wanted = str(value).lower()
        for member in kind:
            if wanted in (str(member.value), member.name.lower()):
                self._replace(name, member)
                return
        choices = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise refused(f"{name}={value!r} is not known.", f"use one of {choices}.")

    def _replace(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def refused(what: str, attempt: str, cause: str | None = None) -> ConfigurationError:
    return ConfigurationError(what, attempt=attempt, cause=cause)


def refuse_if(wrong: bool, what: str, attempt: str, cause: str | None = None) -> None:
    if wrong:
        raise refused(what, attempt, cause)


def word_value(word: Any) -> Any:
    return None if word is None else word.value


def kilobytes(number: int | None) -> int | None:
    """librdkafka counts some limits in kilobytes; a limit is never rounded to nothing."""
    return None if number is None else max(1, number // 1024)


@dataclass(frozen=True, kw_only=True)
class AdminConfig(ClientConfig):
    """How an `Admin` reaches the brokers.

    Example:
        from tidelog import Admin, AdminConfig

        config = AdminConfig(bootstrap_servers=["localhost:9092"], request_timeout_ms=5_000)
        with Admin(config) as admin:
            print(admin.describe_cluster().nodes)

    Attributes:
    """
