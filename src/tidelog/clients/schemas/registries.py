"""A registry as users name it: a URL, or properties by Confluent's names; clients of one process share it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.errors import NotARegistry, RegistryUnavailable
from tidelog.blocking.registry.options import BadRegistryOption, options_of, options_of_url
from tidelog.clients.errors import ConfigurationError
from tidelog.clients.serializers import NoRegistry

Registry: TypeAlias = str | Mapping[str, Any] | RegistryClient
"""URLs with commas between them; or a mapping: `{"url": …, "basic.auth.user.info": "user:password"}`."""


def registry_client(registry: Registry) -> RegistryClient:
    if isinstance(registry, RegistryClient):
        return registry
    try:
        if isinstance(registry, str):
            return RegistryClient(options_of_url(registry))
        return RegistryClient(options_of({name: str(value) for name, value in registry.items()}))
    except BadRegistryOption as error:
        raise ConfigurationError(
            f"{str(error).partition(';')[0]}.", attempt="pass a URL such as http://localhost:8081."
        ) from error


@contextmanager
def reaching() -> Iterator[None]:
    """Tells a registry that is away from records that are wrong."""
    try:
        yield
    except (RegistryUnavailable, NotARegistry) as error:
        text = str(error)
        raise NoRegistry(f"{text[:1].upper()}{text[1:]}.", retriable=True) from error
