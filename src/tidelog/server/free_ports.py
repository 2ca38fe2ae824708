"""Ports to listen at, for a cluster that asks for any: chosen first, bound later by processes of their own.

Between the two the kernel must not give such a port to an outgoing connection of some other program, and a
broker that is down must find its port free when it comes back. So they lie below the range that the kernel
gives away by itself. A choice at random keeps two clusters that start at the same time apart.
"""

import errno
import random
import socket
from collections.abc import Container
from pathlib import Path

PORT_MAX = 65_535
LOWEST = 10_000
FIRST_GIVEN = 32_768
"""Where the kernel does not say which ports it gives to outgoing connections."""

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES_PER_PORT = 50


def bound(host: str, port: int) -> socket.socket:
    """Raises OSError where the port is taken, or beyond the last: getaddrinfo takes 65,536 for 0."""
    if port > PORT_MAX:
        raise OSError(errno.EADDRNOTAVAIL, f"{PORT_MAX} is the last port")
    family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    probe = socket.socket(family[0], socket.SOCK_STREAM)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(family[4])
    except OSError:
        probe.close()
        raise
    return probe


def free_ports(
    host: str, wanted: int, *, in_a_row: int = 1, step: int = 1, others: Container[int] = ()
) -> list[int]:
    """Each is the first of so many `in_a_row`, `step` apart, and none of `others`.

    All are held until all are found, so that the kernel gives none of them away. It would let them be bound
    twice, since nothing listens there yet: that they differ is seen to here.
    """
    held: dict[int, socket.socket] = {}
    try:
        return [_hold_row(host, held, others, in_a_row, step) for _ in range(wanted)]
    finally:
        for probe in held.values():
            probe.close()


def _hold_row(
    host: str, held: dict[int, socket.socket], others: Container[int], in_a_row: int, step: int
) -> int:
    end = _first_given() - (in_a_row - 1) * step
    chance = random.SystemRandom()
    for _ in range(TRIES_PER_PORT if end > LOWEST else 0):
        first = chance.randrange(LOWEST, end)
        row = _bound_row(host, range(first, first + in_a_row * step, step), held, others)
        if row is not None:
            held.update(row)
            return first
    # Hardly any port is free there, or the kernel gives all of them away.
    while True:
        probe = bound(host, 0)
        first = int(probe.getsockname()[1])
        row = _bound_row(host, range(first + step, first + in_a_row * step, step), held, others)
        if row is not None and first not in held and first not in others:
            held.update({first: probe, **row})
            return first
        probe.close()
        for other in (row or {}).values():
            other.close()


def _bound_row(
    host: str, ports: range, held: Container[int], others: Container[int]
) -> dict[int, socket.socket] | None:
    """Returns None where one of them is taken."""
    row: dict[int, socket.socket] = {}
    try:
        for port in ports:
            if port in held or port in others:
                raise OSError(f"port {port} is taken")
            row[port] = bound(host, port)
    except OSError:
        for probe in row.values():
            probe.close()
        return None
    return row


def may_be_given_away(port: int) -> bool:
    """Whether the kernel may give it to an outgoing connection."""
    return port in _given()


def _first_given() -> int:
    return _given().start


def _given() -> range:
    try:
        first, last = map(int, PORT_RANGE.read_text().split())
    except (OSError, ValueError):
        return range(FIRST_GIVEN, PORT_MAX + 1)
    return range(first, last + 1)
