"""The real broker inside a test: a thread with its own event loop, a free port, a temporary directory.

Any Kafka client can use it, blocking ones too, since the broker never runs on the caller's thread.
"""

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.base.config.config import BrokerConfig, load

if TYPE_CHECKING:
    from tidelog.node.node import BrokerNode
    from tidelog.server.node_ports import NodeNetwork
    from tidelog.testing.security import SecuredFiles, Security

SettingValue: TypeAlias = str | int | float | bool | list[str]

# A test wants speed, and its directory is thrown away; everything else is as in a served broker.
TEST_SETTINGS: dict[str, SettingValue] = {
    "durability": "os",
    "shutdown.grace.ms": 1000,
    "log.dirs.min.free.bytes": 0,
    "schema.registry.port": -1,  # a socket, until a client comes
}

STOP_LIMIT_S = 30.0


class Broker:
    """The real broker inside this process, for tests: the real log on disk, the real protocol on a real port.

    It runs on a thread of its own and starts in a few milliseconds, so each test can have one. Any Kafka
    client can use it. Use `with`, or `async with` from asyncio, where starting and stopping do not block
    the loop.

    Example:
        import tidelog.testing
        from tidelog import Producer

        with tidelog.testing.Broker(settings={"num.partitions": 3}) as broker:
            with Producer({"bootstrap.servers": broker.bootstrap_servers}) as producer:
                print(producer.send("events", "Hello").result())

    Args:
        settings: Broker settings, under Kafka's names. They win over those of tests: `durability=os`, a short
            `shutdown.grace.ms`, no reserve of disk space, and a schema registry at a free port.
        data_dir: A directory that keeps the data. None: a temporary one that goes with the broker.
        port: The port to listen on. 0: a free one.
        network: For tests of clusters: what connects this broker to the others.
        security: `ssl`, `sasl_plaintext`, `sasl_ssl`, or a `Security` with users and ACLs. None: plain text.

    Attributes:
        settings: The settings that it starts with.
    """

    def __init__(
        self,
        *,
        settings: Mapping[str, SettingValue] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        port: int = 0,
        network: "Callable[[], NodeNetwork] | None" = None,
        security: "Security | str | None" = None,
    ) -> None:
        self._security = security_of(security)
        self._files: SecuredFiles | None = None
        self.settings: dict[str, SettingValue] = {**TEST_SETTINGS, **(settings or {})}
        self._kept_dir = None if data_dir is None else os.path.abspath(data_dir)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._port = port
        self._registry_port: int | None = None
        self._network = network
        self._thread: threading.Thread | None = None
        self._life: _Life | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The address for a client's `bootstrap.servers`."""
        return self._running().node.bootstrap_servers

    def client_config(self, user: str = "admin", library: str = "librdkafka") -> dict[str, Any]:
        """The configuration with which a user's client connects, secured or not.

        Args:
            user: One of the users of the `security`; there is always `admin`.
            library: `librdkafka` (our own clients too), `aiokafka`, `kafka-python`, `java` or `spark`.
        """
        return client_config(self._files, self.bootstrap_servers, user, library)

    @property
    def port(self) -> int:
        """The port that it listens on, while it runs."""
        return self._running().node.port

    @property
    def metrics_address(self) -> str | None:
        """Where metrics and health are served over HTTP, as `host:port`; None without `metrics.port`."""
        return self._running().node.metrics_address

    @property
    def schema_registry_url(self) -> str:
        """The schema registry, for a client's `schema.registry.url`.

        Example:
            import urllib.request

            import tidelog.testing

            with tidelog.testing.Broker() as broker:
                with urllib.request.urlopen(f"{broker.schema_registry_url}/subjects") as answer:
                    print(answer.read())
        """
        url = self._running().node.schema_registry_url
        if url is None:
            raise RuntimeError("the schema registry is off: leave out the setting schema.registry.port=0")
        return url

    @property
    def fixed_port(self) -> int:
        """The port that it listened on last, also while it does not run."""
        return self._port

    @property
    def is_running(self) -> bool:
        """Whether it has been started, and neither stopped nor killed."""
        return self._life is not None

    @property
    def is_controller(self) -> bool:
        """Whether it runs and is the active controller of its cluster."""
        return self._life is not None and self._life.node.services.metadata.is_controller

    @property
    def data_dir(self) -> str:
        """The directory with the partitions."""
        if self._kept_dir is not None:
            return self._kept_dir
        if self._temporary is None:
            raise RuntimeError("the broker is not started, so it has no directory yet")
        return self._temporary.name

    def start(self) -> None:
        """Start it. It answers requests when this returns."""
        if self._thread is not None:
            raise RuntimeError("the broker runs already")
        if self._security is not None and self._files is None:
            from tidelog.testing.security import SecuredFiles

            self._files = SecuredFiles(self._security)
        if self._kept_dir is None and self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="tidelog-", ignore_cleanup_errors=True)
        try:
            self._begin()
            if self._files is not None:
                add_acls(self._files, self.bootstrap_servers)
        except BaseException:
            self.kill()
            self._remove_directory()
            raise

    def stop(self) -> None:
        """Stop it in order. A temporary directory goes; a broker that does not run stays as it is."""
        try:
            self._end()
        finally:
            self._remove_directory()

    def kill(self) -> None:
        """End it as `kill -9` would: nothing is answered, handed over or written any more.

        The data stays, even in a temporary directory, until `stop`.
        """
        life, thread = self._life, self._thread
        if life is None or thread is None:
            return
        self._life = self._thread = None
        life.ask_to_die()
        thread.join(STOP_LIMIT_S)
        if thread.is_alive():
            raise TimeoutError(f"the broker did not die within {STOP_LIMIT_S:g} s")

    def restart(self) -> None:
        """Stop it in order, and start it again with the same data on the same port.

        Example:
            import tidelog.testing
            from tidelog import Admin

            with tidelog.testing.Broker() as broker:
                with Admin({"bootstrap.servers": broker.bootstrap_servers}) as admin:
                    admin.create_topic("orders")
                    broker.restart()
                    print(admin.topic_exists("orders"))
        """
        self._port = self.port
        self._end()
        self._begin()

    def _begin(self) -> None:
        life = _Life(self._config(), self._network)
        thread = threading.Thread(target=life.run, name="tidelog-broker", daemon=True)
        thread.start()
        try:
            life.started.result()
        except BaseException:
            thread.join(STOP_LIMIT_S)
            raise
        self._life, self._thread, self._port = life, thread, life.node.port
        self._registry_port = life.node.schema_registry_port

    def _end(self) -> None:
        life, thread = self._life, self._thread
        if life is None or thread is None:
            return
        self._life = self._thread = None
        life.ask_to_stop()
        thread.join(STOP_LIMIT_S)
        if thread.is_alive():
            raise TimeoutError(f"the broker did not stop within {STOP_LIMIT_S:g} s")
        if life.failure is not None:
            raise life.failure

    def _config(self) -> BrokerConfig:
        flags = {name: _text(value) for name, value in self.settings.items()}
        listener = "PLAINTEXT" if self._security is None else self._security.protocol.upper()
        flags.setdefault("listeners", f"{listener}://127.0.0.1:{self._port}")
        if self._registry_port is not None:  # as the other port, it stays through restarts
            flags["schema.registry.port"] = str(self._registry_port)
        if self._files is not None:
            flags = self._files.settings(listener=listener) | flags
        flags.setdefault("log.dirs", self.data_dir)
        # The environment is not read: a test must not change with the machine it runs on.
        return load(None, {}, flags, flags_origin="settings")

    def _running(self) -> "_Life":
        if self._life is None:
            raise RuntimeError("the broker is not running; use it inside `with Broker() as broker:`")
        return self._life

    def _remove_directory(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def __enter__(self) -> "Broker":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "Broker":
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)


class _Life:
    """One run of a node on the broker's own thread, from start to stop."""

    def __init__(self, config: BrokerConfig, network: "Callable[[], NodeNetwork] | None" = None) -> None:
        self._config = config
        self._network = network
        self._dies = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self.node: BrokerNode
        self.started: Future[None] = Future()
        self.failure: BaseException | None = None

    def run(self) -> None:
        from tidelog.server.event_loop import loop_factory

        try:
            with asyncio.Runner(loop_factory=loop_factory(self._config.text("event.loop"))) as runner:
                runner.run(self._serve())
        except BaseException as error:  # a thread has no caller; stop() raises it
            if self.started.done():
                self.failure = error
            else:
                self.started.set_exception(error)

    async def _serve(self) -> None:
        from tidelog.node.node import BrokerNode

        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.node = BrokerNode(self._config, network=self._network() if self._network is not None else None)
        await self.node.start()
        self.started.set_result(None)
        await self._stop.wait()
        if self._dies:
            self.node.abort()
        else:
            await self.node.stop()

    def ask_to_die(self) -> None:
        self._dies = True
        self.ask_to_stop()

    def ask_to_stop(self) -> None:
        if self._loop is not None and self._stop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)


def client_config(files: "SecuredFiles | None", servers: str, user: str, library: str) -> dict[str, Any]:
    if files is not None:
        return files.client_config(servers, user, library)
    name = {"aiokafka": "bootstrap_servers", "kafka-python": "bootstrap_servers"}.get(library)
    return {name or ("kafka." if library == "spark" else "") + "bootstrap.servers": servers}


def add_acls(files: "SecuredFiles", servers: str) -> None:
    if files.security.acls:
        from tidelog.testing.security import add_acls as add

        add(files, servers)


def security_of(given: "Security | str | None") -> "Security | None":
    if not isinstance(given, str):
        return given
    from tidelog.testing.security import Security

    return Security(given)


def _text(value: SettingValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)
