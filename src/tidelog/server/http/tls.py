"""TLS on an HTTP port, with the broker's own certificate, which is followed as those of listeners."""

import asyncio
import logging
import ssl

from tidelog.base.config.config import BrokerConfig
from tidelog.security.tls.contexts import server_context
from tidelog.security.tls.from_config import tls_settings
from tidelog.server.tls.watched_context import WatchedContext

LOOK_SECONDS = 3.0

log = logging.getLogger("tidelog.server")


class HttpTls:
    def __init__(self, config: BrokerConfig, port: str) -> None:
        """`port` is the setting that log lines name. Raises InvalidTls."""
        self._port = port
        self._watched = WatchedContext(port, tls_settings(config), server_context)
        self._watching: asyncio.Task[None] | None = None

    def context(self) -> ssl.SSLContext:
        """For the next connection."""
        return self._watched.context

    def start(self) -> None:
        self._watched.announce()
        name = f"TLS files of {self._port}"
        self._watching = asyncio.get_running_loop().create_task(self._watch(), name=name)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await asyncio.to_thread(self._watched.refresh)
            except Exception:
                log.exception("the certificate files of %s cannot be looked at; next try in 3 s", self._port)
