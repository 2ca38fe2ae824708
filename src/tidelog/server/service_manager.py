"""What systemd hears from a broker: that it is ready, that it stops, and that its event loop turns.

The protocol of sd_notify: a datagram of NAME=VALUE lines to the socket that NOTIFY_SOCKET names. Only a
broker that a service manager has started imports this file.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import MutableMapping

BEATS_PER_TIMEOUT = 3


class ServiceManager:
    def __init__(self, address: str, watchdog_s: float | None = None) -> None:
        # A name that begins with @ is one of Linux' abstract names, which no file has.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._watchdog_s = watchdog_s
        self._beating: asyncio.Task[None] | None = None

    @classmethod
    def of_environment(cls, environment: MutableMapping[str, str]) -> "ServiceManager | None":
        """Removes the variables as well: the broker's own children have nothing to say to the manager."""
        address = environment.pop("NOTIFY_SOCKET", None)
        usec = environment.pop("WATCHDOG_USEC", "")
        is_for_us = environment.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        if not address:
            return None
        return cls(address, int(usec) / 1e6 if usec.isdigit() and is_for_us else None)

    def starting(self) -> None:
        self._send("STATUS=Recovers its logs and waits for the cluster")

    def ready(self, addresses: str) -> None:
        """Lets `systemctl start` return. From now on the manager restarts a broker whose loop stalls."""
        self._send("READY=1", f"STATUS=Answers at {addresses}")
        if self._watchdog_s is not None:
            self._beating = asyncio.create_task(self._beat(self._watchdog_s), name="watchdog")

    def stopping(self) -> None:
        self._send("STOPPING=1", "STATUS=Hands its partitions to other brokers and stops")

    def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    async def _beat(self, timeout_s: float) -> None:
        while True:
            self._send("WATCHDOG=1")
            await asyncio.sleep(timeout_s / BEATS_PER_TIMEOUT)

    def _send(self, *lines: str) -> None:
        # A manager that does not listen must not keep a broker from serving.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.setblocking(False)
            connection.sendto("\n".join(lines).encode(), self._address)
