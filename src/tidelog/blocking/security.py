"""How a connection is secured: plain text, TLS, SASL, or SASL over TLS.

A `Security` travels to Spark's executors, so it holds plain values; the TLS context is made where it is used.
"""

import os
import ssl
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidelog.blocking.errors import SecurityError


@dataclass(frozen=True)
class Tls:
    """Files or texts in PEM. Without a trust store, the authorities of the machine are trusted."""

    ca_file: str | None = None
    ca_text: str | None = field(default=None, repr=False)
    certificate_file: str | None = None
    key_file: str | None = None
    certificate_text: str | None = field(default=None, repr=False)
    key_text: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    check_certificate: bool = True

    @property
    def has_certificate(self) -> bool:
        return self.certificate_file is not None or self.certificate_text is not None

    def embedded(self) -> "Tls":
        """The same with the content of its files, for a process on a machine that does not have them."""
        made = self
        if self.ca_file is not None and not os.path.isdir(self.ca_file):
            made = replace(made, ca_file=None, ca_text=_read(self.ca_file))
        if self.certificate_file is not None:
            is_one_file = self.key_file in (None, self.certificate_file)
            made = replace(
                made,
                certificate_file=None,
                key_file=None,
                certificate_text=_read(self.certificate_file),
                key_text=None if is_one_file else _read(self.key_file or ""),
            )
        return made

    @cached_property
    def context(self) -> ssl.SSLContext:
        try:
            return self._made()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise SecurityError(f"TLS cannot be set up: {error}; check the ssl.* options") from error

    def __getstate__(self) -> dict[str, object]:
        # A context cannot be pickled; the executor makes its own.
        return {name: value for name, value in self.__dict__.items() if name != "context"}

    def _made(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_text)
        context.check_hostname = self.check_hostname and self.check_certificate
        if not self.check_certificate:
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_file is not None:
            context.load_cert_chain(self.certificate_file, self.key_file, self.key_password)
        elif self.certificate_text is not None:
            self._load_texts(context)
        return context

    def _load_texts(self, context: ssl.SSLContext) -> None:
        """The ssl module reads a key from files only, so it gets a file that lives for a moment."""
        import tempfile  # commands that need no key start sooner without it

        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # created readable by its owner alone
            file.write(f"{self.key_text or ''}\n{self.certificate_text}\n")
            file.flush()
            # An encrypted key without a password would ask on the terminal.
            context.load_cert_chain(file.name, password=self.key_password or "")


@dataclass(frozen=True)
class Sasl:
    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: str | None = field(default=None, repr=False)
    """An OAUTHBEARER token; without it, a token is fetched from `token_endpoint`."""
    token_endpoint: str | None = None
    scope: str | None = None
    extensions: tuple[tuple[str, str], ...] = ()
    is_token: bool = False
    """Whether user name and password are the id and HMAC of a delegation token."""


@dataclass(frozen=True)
class Security:
    tls: Tls | None = None
    sasl: Sasl | None = None
    option_prefix: str = ""
    """What stands before the names of options in errors: Spark's users write `kafka.sasl.mechanism`."""

    def embedded(self) -> "Security":
        return self if self.tls is None else replace(self, tls=self.tls.embedded())


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SecurityError(f"{path} cannot be read: {reason}; check the ssl.* options") from None
