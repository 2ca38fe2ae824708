"""Exits with 0 while the broker in this container answers /healthz, else with 1 and the reason.

Only the standard library, and little of it: a check every ten seconds must cost nothing.
"""

import os
import socket
import sys

TIMEOUT_S = 4.0
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def problem(port: int) -> str | None:
    try:
        with socket.create_connection(("localhost", port), TIMEOUT_S) as connection:
            connection.sendall(REQUEST)
            with connection.makefile("rb") as answer:
                status = answer.readline(1024).decode("latin-1").strip()
    except OSError as error:
        return f"no answer at port {port}: {error}"
    return None if status.split(" ")[1:2] == ["200"] else f"port {port} answers {status!r}"


if __name__ == "__main__":
    given = os.environ.get("TIDELOG_METRICS_PORT", "0")
    sys.exit(problem(int(given)) if given.isdigit() and int(given) else "TIDELOG_METRICS_PORT is not set")
