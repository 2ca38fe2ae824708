"""A connection to another broker that is not secured."""


class PeerRefused(ConnectionError):
    """TLS or SASL failed. The text says what to do, and belongs in the log."""
