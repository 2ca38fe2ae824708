"""How to reach a registry: its URLs, TLS and authentication, as plain values that can be pickled.

The properties are those of Confluent's clients: `schema.registry.url`, `basic.auth.user.info`,
`bearer.auth.token` and `ssl.*`, with or without `schema.registry.` before them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from tidelog.base.errors import TidelogError
from tidelog.blocking.registry.properties import PREFIX, URL
from tidelog.blocking.security import Tls

TIMEOUT_S = 10.0


class BadRegistryOption(TidelogError):
    """An option that cannot be right, whatever the registry says."""


@dataclass(frozen=True)
class RegistryOptions:
    urls: tuple[str, ...]
    """Each is asked in turn, beginning with the last that answered."""
    user: str | None = None
    password: str = field(default="", repr=False)
    token: str | None = field(default=None, repr=False)
    """A bearer token; it takes the place of user and password."""
    tls: Tls = field(default_factory=Tls)
    timeout_s: float = TIMEOUT_S
    """For one request to one URL."""
    retry_s: float = 30.0
    """How long requests are repeated while no registry can answer; 0 asks each URL once."""
    waits_for_start: bool = True
    """Whether that includes a registry that refuses connections, since it may be about to start."""
    cached_schemas_max: int = 1000

    def embedded(self) -> "RegistryOptions":
        """The same with the content of its files, for a process on a machine that does not have them."""
        return replace(self, tls=self.tls.embedded())


def options_of(
    properties: Mapping[str, str], *, timeout_s: float = TIMEOUT_S, retry_s: float = 30.0
) -> RegistryOptions:
    """Options out of properties; an `ssl.*` or `basic.auth.*` name may have `schema.registry.` before it."""

    def of(name: str) -> str | None:
        return properties.get(PREFIX + name) or properties.get(name) or None

    urls, user, password = _urls(of("url") or "")
    if (info := of("basic.auth.user.info")) is not None:
        user, _, password = info.partition(":")
    elif user is None and of("basic.auth.credentials.source") == "SASL_INHERIT":
        user, password = properties.get("sasl.username"), properties.get("sasl.password", "")
    return RegistryOptions(
        urls, user, password, of("bearer.auth.token"), _tls(properties), timeout_s=timeout_s, retry_s=retry_s
    )


def options_of_url(text: str, *, timeout_s: float = TIMEOUT_S, retry_s: float = 30.0) -> RegistryOptions:
    """`http://user:password@host:8081,http://…` alone."""
    return options_of({"url": text}, timeout_s=timeout_s, retry_s=retry_s)


def _urls(text: str) -> tuple[tuple[str, ...], str | None, str]:
    """The URLs without the user and password that the first of them may name."""
    urls: list[str] = []
    user, password = None, ""
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        whole = part if "://" in part else f"http://{part}"
        try:
            split = urlsplit(whole)
            host, port = split.hostname, split.port
        except ValueError:
            host, port = None, None
        if host is None or split.scheme not in ("http", "https") or split.query or split.fragment:
            shown = part.rpartition("@")[2]  # what is before it may be a password
            raise BadRegistryOption(
                f"'{shown}' is no URL of a schema registry; write one such as http://localhost:8081"
            )
        if user is None and split.username is not None:
            user, password = unquote(split.username), unquote(split.password or "")
        host = f"[{host}]" if ":" in host else host
        place = host if port is None else f"{host}:{port}"
        urls.append(f"{split.scheme}://{place}{split.path.rstrip('/')}")
    if not urls:
        raise BadRegistryOption(
            f"no schema registry is named; set {URL} to its URL, such as http://localhost:8081"
        )
    return tuple(urls), user, password


def _tls(properties: Mapping[str, str]) -> Tls:
    """The registry's own `ssl.*`; those of the brokers where it has none."""
    from tidelog.blocking.security_options import tls_of

    own = {
        name.removeprefix(PREFIX): value
        for name, value in properties.items()
        if name.startswith(PREFIX + "ssl.") or name == PREFIX + "enable.ssl.certificate.verification"
    }
    return tls_of(own, PREFIX) if own else tls_of(properties, "")
