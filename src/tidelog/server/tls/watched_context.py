"""A TLS context that follows its settings and files: a new certificate counts without a restart.

Connections keep the session they have; only new ones see a new context. Files that cannot be used change
nothing: the reason is logged once, and the next change of a file is another chance.
"""

import logging
import os
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tidelog.security.tls.certificate_facts import CertificateFacts, certificate_facts
from tidelog.security.tls.contexts import TlsSettings
from tidelog.security.tls.material import InvalidTls, key_material

WARNED_BEFORE = timedelta(days=14)
WARNED_EVERY = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)

log = logging.getLogger("tidelog.server")

_Files = tuple[tuple[int, int, int] | None, ...]


class WatchedContext:
    def __init__(
        self, what: str, settings: TlsSettings, make: Callable[[TlsSettings], ssl.SSLContext]
    ) -> None:
        """`what` names it in log lines and errors. Raises InvalidTls."""
        self._what = what
        self._make = make
        self._wanted = self._tried = settings
        self._files = _look_at(settings)
        self._facts: CertificateFacts | None = None
        self._warned_at = _NEVER
        try:
            self.context = self._load(settings)
        except InvalidTls as error:
            raise InvalidTls(f"{what}: {error}") from error

    def announce(self) -> None:
        """Log whose certificate is in use."""
        if self._facts is not None:
            log.info("%s: certificate of %s", self._what, self._facts)
        self._warn(datetime.now(UTC))

    @property
    def expires_at(self) -> datetime | None:
        """When the certificate in use ends; None without a certificate."""
        return None if self._facts is None else self._facts.expires_at

    def follow(self, settings: TlsSettings) -> None:
        """The settings that the next `refresh` applies."""
        self._wanted = settings

    def refresh(self) -> None:
        """Load the context again if settings or files have changed. Reads files: belongs on a thread."""
        wanted, files = self._wanted, _look_at(self._wanted)
        if wanted != self._tried or files != self._files:
            self._tried, self._files = wanted, files
            try:
                self.context = self._load(wanted)
                self.announce()
            except InvalidTls as error:
                log.error(
                    "%s: the new keys or certificates cannot be used, and the previous ones stay. %s",
                    self._what,
                    error,
                )
        self._warn(datetime.now(UTC))

    def _load(self, settings: TlsSettings) -> ssl.SSLContext:
        context = self._make(settings)
        store = settings.key_store
        self._facts = certificate_facts(key_material(store).chain) if store.location or store.key else None
        self._warned_at = _NEVER
        return context

    def _warn(self, now: datetime) -> None:
        facts = self._facts
        if facts is None or now < self._warned_at + WARNED_EVERY:
            return
        if facts.expires_at > now + WARNED_BEFORE and facts.valid_from <= now:
            return
        self._warned_at = now
        if facts.valid_from > now:
            fault = f"is not valid before {facts.valid_from:%Y-%m-%d %H:%M} UTC: check the clock"
        elif facts.expires_at <= now:
            fault = f"expired at {facts.expires_at:%Y-%m-%d %H:%M} UTC, and is refused by others: replace it"
        else:
            fault = f"expires at {facts.expires_at:%Y-%m-%d %H:%M} UTC: replace it before then"
        log.warning("%s: the certificate of %s %s", self._what, facts.subject, fault)


def _look_at(settings: TlsSettings) -> _Files:
    """What tells a new file from the one before; None for a file that is not there."""
    looks: list[tuple[int, int, int] | None] = []
    for path in settings.files:
        try:
            found = os.stat(path)
        except OSError:
            looks.append(None)
        else:
            looks.append((found.st_mtime_ns, found.st_ino, found.st_size))
    return tuple(looks)
