"""Kafka's APIs, and the few that brokers of this cluster have among themselves: keys, versions, messages.

Left out are the APIs between KRaft controllers, which nothing here speaks. A message module is imported when
its class is first used, so that a broker pays only for what it serves.
"""

from importlib import import_module

import msgspec

from tidelog.wire.message import Message
from tidelog.wire.messages.index import ROWS, ApiKey

__all__ = ["API", "FIRST_INTERNAL", "ApiKey", "ApiSpec"]


class ApiSpec(msgspec.Struct, frozen=True):
    key: int
    name: str
    module: str
    min_version: int
    max_version: int
    first_flexible: int | None
    """The first version with compact lengths and tagged fields; None where no version has them."""

    def request_class(self) -> type[Message]:
        return self._message("Request")

    def response_class(self) -> type[Message]:
        return self._message("Response")

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def is_flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible

    def tags_in_response_header(self, version: int) -> bool:
        """ApiVersions is answered before the client knows the broker, so that header never grew."""
        return self.is_flexible(version) and self.key != ApiKey.API_VERSIONS

    def _message(self, suffix: str) -> type[Message]:
        module = import_module(f"tidelog.wire.messages.{self.module}")
        found: type[Message] = getattr(module, self.name + suffix)
        return found


FIRST_INTERNAL = 20_000
"""From this key on APIs are ours: those between brokers, which are not advertised, and those for roles."""

API: dict[int, ApiSpec] = {row[0]: ApiSpec(*row) for row in ROWS}
