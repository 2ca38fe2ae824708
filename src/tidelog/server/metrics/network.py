"""Metrics of the Kafka port: connections, the bytes in and out, and the memory that requests hold."""

from collections.abc import Iterator, Mapping

from tidelog.metrics.collectors import Collector
from tidelog.metrics.families.connections import (
    AUTHENTICATION_FAILURES,
    CONNECTIONS,
    CONNECTIONS_ACCEPTED,
    CONNECTIONS_REFUSED,
    CONNECTIONS_TIMED_OUT,
    HANDSHAKES_FAILED,
    MEMORY_BUDGET_BYTES,
    MEMORY_HELD_BYTES,
    MEMORY_STALLS,
    PROTOCOL_ERRORS,
    RECEIVED_BYTES,
    SENT_BYTES,
)
from tidelog.metrics.page import Page
from tidelog.server.server import Server


def network_metrics(server: Server, failures: Mapping[tuple[str, str], int]) -> Collector:
    """`failures` of authentication, by listener and mechanism."""

    def collect(page: Page) -> Iterator[None]:
        counters = server.counters
        for name, count in server.connections_by_listener.items():
            page.add(CONNECTIONS, count, name)
        for name, count in counters.accepted_by_listener.items():
            page.add(CONNECTIONS_ACCEPTED, count, name)
        for reason, count in counters.refused_by_reason.items():
            page.add(CONNECTIONS_REFUSED, count, reason)
        for (name, mechanism), count in list(failures.items()):
            page.add(AUTHENTICATION_FAILURES, count, name, mechanism)
        page.add(CONNECTIONS_TIMED_OUT, counters.connections_timed_out)
        page.add(HANDSHAKES_FAILED, counters.handshakes_failed)
        page.add(PROTOCOL_ERRORS, counters.protocol_errors)
        page.add(RECEIVED_BYTES, counters.bytes_in)
        page.add(SENT_BYTES, counters.bytes_out)
        page.add(MEMORY_BUDGET_BYTES, server.held_bytes_max)
        page.add(MEMORY_HELD_BYTES, server.held_bytes)
        page.add(MEMORY_STALLS, counters.memory_stalls)
        yield

    return collect
