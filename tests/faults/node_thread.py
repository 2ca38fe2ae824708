"""A whole broker on a disk that fails when told to: killed, crashed and started again at will."""

import asyncio
import selectors
import threading
from collections.abc import Callable
from typing import Any

from tests.faults.raw_client import DEADLINE_S, RawClient
from tidelog.base.config.config import load
from tidelog.node.node import BrokerNode
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


class NodeThread:
    """One life of a node at a time, on a thread with its own loop; the disk outlives them all."""

    def __init__(
        self,
        disk: MemoryDisk | None = None,
        *,
        selector: selectors.BaseSelector | None = None,
        **settings: object,
    ) -> None:
        self.selector = selector
        self.disk = disk or MemoryDisk(seed=7)
        self.disk.make_dirs("/data")
        self._settings = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self._settings.setdefault("log.dirs", "/data")
        self._settings.setdefault("listeners", "PLAINTEXT://127.0.0.1:0")
        self._settings.setdefault("shutdown.grace.ms", "1000")
        self._settings.setdefault("log.dirs.min.free.bytes", "0")
        self.node: BrokerNode
        self._loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread | None = None

    def __enter__(self) -> "NodeThread":
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._thread is not None:
            self.disk.heal()
            self.stop()

    @property
    def port(self) -> int:
        return self.node.port

    @property
    def thread_id(self) -> int | None:
        return None if self._thread is None else self._thread.ident

    def connect(self) -> RawClient:
        return RawClient(self.port)

    def start(self) -> None:
        self._loop = asyncio.SelectorEventLoop(self.selector)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.node = BrokerNode(load(None, {}, self._settings), disk=self.disk)
        try:
            self._on_loop(self.node.start)
        except BaseException:
            self._end_loop()
            raise

    def stop(self) -> None:
        try:
            self._on_loop(self.node.stop)
        finally:
            self._end_loop()

    def power_cut(self) -> None:
        """Nothing more reaches the disk, and of what was not synced only a part is there afterwards."""
        self.disk.heal()
        self.disk.fail("*")
        try:
            self.stop()
        except Exception:  # noqa: S110  a process that is killed reports to nobody
            pass
        self.disk.heal()
        self.disk.crash()

    def _on_loop(self, work: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(DEADLINE_S)

    def _end_loop(self) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        self._loop.close()
        self._thread = None
