"""What a TLS listener knows: its context, which may be replaced at any time, and whom a certificate names."""

import ssl
from collections.abc import Sequence

from tidelog.security.principal import ANONYMOUS, USER, Principal
from tidelog.security.ssl_principal import MappingRule, distinguished_name, parse_rules, principal_name
from tidelog.security.tls.contexts import ClientAuth, TlsSettings, server_context


class TlsListener:
    def __init__(self, settings: TlsSettings, mapping_rules: str = "DEFAULT") -> None:
        """Raises InvalidTls or InvalidMappingRules."""
        self._settings = settings
        self._rules: Sequence[MappingRule | None] = parse_rules(mapping_rules)
        self.context: ssl.SSLContext = server_context(settings)

    @property
    def files(self) -> tuple[str, ...]:
        return self._settings.files

    def reload(self) -> None:
        """Read keys and certificates again, for new connections. Raises InvalidTls; then nothing changed."""
        self.context = server_context(self._settings)

    def principal_of(self, session: ssl.SSLSocket) -> Principal | None:
        """The principal that the client's certificate names; None where no mapping rule takes its name."""
        if self._settings.client_auth is ClientAuth.NONE:
            return ANONYMOUS
        certificate = session.getpeercert()
        if not certificate:
            return ANONYMOUS
        name = principal_name(self._rules, distinguished_name(certificate.get("subject", ())))  # type: ignore[arg-type]
        return None if name is None else Principal(USER, name)
