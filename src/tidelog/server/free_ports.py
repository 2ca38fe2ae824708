"""Ports to listen at, for a cluster that asks for any: chosen first, bound later by processes of their own.

Between the two the kernel must not give such a port to an outgoing connection of some other program, and a
broker that is down must find its port free when it comes back. So they lie below the range that the kernel
gives away by itself. A choice at random keeps two clusters that start at the same time apart.
"""

import random
import socket
from pathlib import Path

LOWEST = 10_000
FIRST_GIVEN = 32_768
"""Where the kernel does not say which ports it gives to outgoing connections."""

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
TRIES_PER_PORT = 50


def bound(host: str, port: int) -> socket.socket:
    """Raises OSError where the port is taken."""
    family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    probe = socket.socket(family[0], socket.SOCK_STREAM)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(family[4])
    except OSError:
        probe.close()
        raise
    return probe


def free_ports(host: str, wanted: int, *, in_a_row: int = 1) -> list[int]:
    """Each is the first of so many `in_a_row`; all are held until all are found, so that they differ."""
    rows: list[list[socket.socket]] = []
    try:
        for _ in range(wanted):
            rows.append(_any_bound(host, in_a_row))
        return [int(row[0].getsockname()[1]) for row in rows]
    finally:
        for row in rows:
            _close(row)


def _any_bound(host: str, in_a_row: int) -> list[socket.socket]:
    end = _first_given() - in_a_row + 1
    chance = random.SystemRandom()
    for _ in range(TRIES_PER_PORT if end > LOWEST else 0):
        try:
            return _bound_row(host, chance.randrange(LOWEST, end), in_a_row)
        except OSError:
            continue
    # Hardly any port is free there, or the kernel gives all of them away.
    while True:
        first = bound(host, 0)
        try:
            return [first, *_bound_row(host, int(first.getsockname()[1]) + 1, in_a_row - 1)]
        except OSError:
            first.close()


def _bound_row(host: str, first: int, count: int) -> list[socket.socket]:
    row: list[socket.socket] = []
    try:
        for port in range(first, first + count):
            row.append(bound(host, port))
    except (OSError, OverflowError) as error:
        _close(row)
        raise OSError(f"port {first + len(row)} is taken") from error
    return row


def _close(sockets: list[socket.socket]) -> None:
    for held in sockets:
        held.close()


def _first_given() -> int:
    try:
        return int(PORT_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return FIRST_GIVEN
