"""A client of the registry in memory: its calls go straight to the API, without HTTP."""

import json
from typing import Any
from urllib.parse import urlsplit

from tests.rigs.local_registry import HOST, LocalRegistry
from tidelog.blocking.registry.calls import RegistryCalls, target_of
from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.blocking.registry.options import RegistryOptions
from tidelog.broker.registry.calls import Call

URL = "http://memory:8081"


class LocalCalls(RegistryCalls):
    def __init__(self, registry: LocalRegistry, url: str = URL) -> None:
        super().__init__(RegistryOptions((url,)))
        self._registry = registry
        self._prefix = urlsplit(url).path

    def _call(self, method: str, path: Any, query: Any, body: object) -> Any:
        target = urlsplit(self._prefix + target_of(path, query))
        data = b"" if body is None else json.dumps(body).encode()
        got = self._registry.send(Call(method, target.path, target.query, data, host=HOST))
        if got.status >= 300:
            raise RegistryRefused(got.status, got.code, got.json["message"])
        return got.json


def client_of(registry: LocalRegistry, path: str = "") -> RegistryClient:
    """`path`: behind the host, such as `/contexts/.staging`."""
    calls = LocalCalls(registry, URL + path)
    return RegistryClient(calls.options, calls=calls)
