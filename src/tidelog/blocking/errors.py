"""What a caller of the blocking client has to expect.

TidelogError
  SecurityError        TLS or SASL that cannot be set up, or that the broker refused
    UntrustedBroker    the broker's certificate cannot be trusted: its authority, its dates or its names
    CertificateWanted  the broker wants a certificate of the client, or does not accept the one it has
    MechanismRefused   the broker does not offer the SASL mechanism
    LoginRefused       the broker refused the user, the password or the token
  Disconnected         one connection failed; another broker may answer
    NoAnswer           the broker took the request and sent no answer in time
    BadAnswer          the answer is not one that a Kafka broker sends
    NoBroker           no broker could be reached, this time
  BrokersUnreachable   no broker answered within the time limit
  GaveUp               brokers answered, but the call did not succeed within the time limit
  NoSuchTopic          the topic or partition does not exist, or no longer

A code in an answer is a KafkaError of `tidelog.base.errors`.
"""

from collections.abc import Sequence

from tidelog.base.errors import TidelogError


class SecurityError(TidelogError):
    """TLS or SASL that cannot be set up, or that the broker refused. A retry does not help."""


class UntrustedBroker(SecurityError):
    """The broker's certificate cannot be trusted."""

    def __init__(self, message: str, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        """OpenSSL's X509_V_ERR_…"""
        self.reason = reason
        """OpenSSL's words."""


class CertificateWanted(SecurityError):
    """The broker wants a certificate of the client, or does not accept the one that the client has."""


class MechanismRefused(SecurityError):
    """The broker does not offer the SASL mechanism."""

    def __init__(self, message: str, offered: Sequence[str]) -> None:
        super().__init__(message)
        self.offered = tuple(offered)


class LoginRefused(SecurityError):
    """The broker refused the user, the password or the token."""


class Disconnected(TidelogError):
    """A connection that could not be opened, broke, or gave no answer in time."""

    @property
    def reason(self) -> str:
        """The cause alone, for a caller that names the broker itself."""
        return str(self.__cause__ or self)


class NoAnswer(Disconnected):
    """The broker took the request and sent no answer in time."""


class BadAnswer(Disconnected):
    """The answer cannot be read: no Kafka broker listens there, or the listener speaks another protocol."""


class NoBroker(Disconnected):
    """No broker could be reached, this time."""

    def __init__(self, failures: Sequence[Disconnected]) -> None:
        super().__init__("; ".join(str(failure) for failure in failures))
        self.failures = tuple(failures)


class BrokersUnreachable(TidelogError):
    """No broker answered within the time limit."""


class GaveUp(TidelogError):
    """Brokers answered, but the call did not succeed within the time limit."""


class NoSuchTopic(TidelogError):
    """A topic or partition that does not exist, or no longer."""
