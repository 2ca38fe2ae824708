"""A listener that speaks TLS: its context, which follows the files, and the principals of certificates."""

import ssl
from collections.abc import Sequence

from tidelog.security.principal import ANONYMOUS, USER, Principal
from tidelog.security.ssl_principal import MappingRule, distinguished_name, parse_rules, principal_name
from tidelog.security.tls.contexts import TlsSettings, server_context
from tidelog.server.tls.watched_context import WatchedContext


class TlsListener:
    def __init__(
        self,
        settings: TlsSettings,
        mapping_rules: str = "DEFAULT",
        *,
        name: str = "TLS",
        names_principals: bool = True,
    ) -> None:
        """`names_principals`: whether a client's certificate is its principal, as on SSL listeners.

        Raises InvalidTls or InvalidMappingRules.
        """
        self._rules: Sequence[MappingRule | None] = parse_rules(mapping_rules)
        self._names_principals = names_principals
        self.watched = WatchedContext(f"listener {name}", settings, server_context)

    @property
    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        return self.watched.context

    def principal_of(self, session: ssl.SSLSocket) -> Principal | None:
        """The principal that the client's certificate names; None where no mapping rule gives one."""
        certificate = session.getpeercert() if self._names_principals else None
        if not certificate:
            return ANONYMOUS
        name = principal_name(self._rules, distinguished_name(certificate.get("subject", ())))  # type: ignore[arg-type]
        return Principal(USER, name) if name else None
