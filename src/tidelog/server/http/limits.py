"""Every limit of an HTTP port, in one place. A port of Tidelog is no public web server: they are tight."""

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, slots=True)
class HttpLimits:
    connections_max: int = 32
    connections_per_host_max: int = 16
    """Probes and scrapes of other hosts find a place, whatever one host does."""
    full_pause_seconds: float = 0.05
    """A port that had to refuse a connection accepts nothing for this long."""
    head_bytes_max: int = 16 * KIB
    body_bytes_max: int = 64 * KIB
    head_seconds: float = 10.0
    """From the first byte of a request, or from the accepted connection, to the end of its head."""
    idle_seconds: int = 90
    """Between two requests. Longer than a scrape interval: TLS handshakes cost more than the scrape."""
    answer_seconds: float = 60.0
    """From a whole request to the last byte of its answer in the kernel."""
    sweep_seconds: float = 1.0
    close_seconds: float = 1.0
    """For the answers under way when the port closes."""
