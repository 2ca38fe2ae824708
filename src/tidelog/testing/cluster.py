"""A replicated cluster inside a test: several real brokers, each on a thread of its own, in one process.

Brokers can be isolated from each other, killed as `kill -9` does, and started again with their data.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tidelog.server.free_ports import free_ports
from tidelog.testing.broker import Broker, SettingValue, add_acls, client_config, security_of
from tidelog.testing.links import Links

if TYPE_CHECKING:
    from tidelog.testing.security import SecuredFiles, Security

CLUSTER_SETTINGS: dict[str, SettingValue] = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    # A test wants to see a failure noticed soon.
    "broker.heartbeat.interval.ms": 200,
    "broker.session.timeout.ms": 1500,
    "controller.quorum.election.timeout.ms": 300,
    "controller.quorum.heartbeat.interval.ms": 60,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.backoff.ms": 200,
}


class Cluster:
    """Several real brokers inside this process that replicate, to test how a client bears up when one dies.

    Brokers have the ids 1, 2, 3 and so on. Topics have three replicas and `min.insync.replicas` of 2, or
    fewer in a smaller cluster, and a dead broker is missed within two seconds. Use `with`, or `async with`
    from asyncio.

    Example:
        import tidelog.testing
        from tidelog import Producer

        with tidelog.testing.Cluster(brokers=3) as cluster:
            with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
                producer.send("orders", "before").result()
                cluster.kill(1)
                print(producer.send("orders", "meanwhile").result().offset)

    Args:
        brokers: How many brokers.
        settings: Broker settings of all of them, under Kafka's names.
        data_dir: A directory that keeps the data. None: a temporary one that goes with the cluster.
        racks: The `broker.rack` of brokers, by id.
        security: `ssl`, `sasl_plaintext`, `sasl_ssl`, or a `Security` with users and ACLs: what clients need.
            Between themselves secured brokers use TLS with certificates. None: plain text.

    Attributes:
        brokers: Every `Broker` by id, the stopped and killed ones too.
        links: The network between the brokers, which `isolate` and `heal` change.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        settings: Mapping[str, SettingValue] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        racks: Mapping[int, str] | None = None,
        security: "Security | str | None" = None,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster has at least one broker, not {brokers}")
        self._size = brokers
        self._settings = dict(settings or {})
        self._racks = dict(racks or {})
        self._kept_dir = None if data_dir is None else os.path.abspath(data_dir)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._voters = ""
        self._security = security_of(security)
        self._files: SecuredFiles | None = None
        self._broker_ports: dict[int, int] = {}
        self.links = Links()
        self.brokers: dict[int, Broker] = {}

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers, so that clients find the cluster whichever is down."""
        return ",".join(f"127.0.0.1:{broker.fixed_port}" for broker in self.brokers.values())

    @property
    def schema_registry_url(self) -> str:
        """The schema registry at every broker that runs, for a client's `schema.registry.url`."""
        running = (broker for broker in self.brokers.values() if broker.is_running)
        return ",".join(broker.schema_registry_url for broker in running)

    def client_config(self, user: str = "admin", library: str = "librdkafka") -> dict[str, Any]:
        """The configuration with which a user's client connects, secured or not.

        Args:
            user: One of the users of the `security`; there is always `admin`.
            library: `librdkafka` (our own clients too), `aiokafka`, `kafka-python`, `java` or `spark`.
        """
        return client_config(self._files, self.bootstrap_servers, user, library)

    @property
    def data_dir(self) -> str:
        """The directory with one directory for each broker."""
        if self._kept_dir is not None:
            return self._kept_dir
        if self._temporary is None:
            raise RuntimeError("the cluster is not started, so it has no directory yet")
        return self._temporary.name

    def start(self) -> None:
        """Start all brokers. Each of them answers requests when this returns."""
        if self.brokers:
            raise RuntimeError("the cluster runs already")
        if self._kept_dir is None:
            self._temporary = tempfile.TemporaryDirectory(
                prefix="tidelog-cluster-", ignore_cleanup_errors=True
            )
        if self._security is not None:
            from tidelog.testing.security import SecuredFiles

            self._files = SecuredFiles(self._security)
        ids = range(1, self._size + 1)
        free = free_ports("127.0.0.1", 2 * self._size if self._files is not None else self._size)
        ports = dict(zip(ids, free[: self._size], strict=True))
        self._broker_ports = dict(zip(ids, free[-self._size :], strict=True))
        self._voters = ",".join(f"{id}@127.0.0.1:{port}" for id, port in self._broker_ports.items())
        self.brokers = {id: self._broker(id, port) for id, port in ports.items()}
        try:
            # All at once: none of them is ready before a majority is.
            with ThreadPoolExecutor(self._size) as pool:
                for started in [pool.submit(broker.start) for broker in self.brokers.values()]:
                    started.result()
            if self._files is not None:
                add_acls(self._files, self.bootstrap_servers)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all brokers that run. Temporary directories go."""
        try:
            self.heal()
            for broker in self.brokers.values():
                if self._temporary is None:
                    broker.stop()
                else:
                    broker.kill()
        finally:
            self.brokers = {}
            if self._files is not None:
                self._files.close()
                self._files = None
            if self._temporary is not None:
                self._temporary.cleanup()
                self._temporary = None

    def add_broker(self) -> int:
        """Start one more broker, which has no vote on the cluster's metadata.

        Returns:
            Its id.
        """
        id = max(self.brokers) + 1
        port, self._broker_ports[id] = free_ports("127.0.0.1", 2)
        if self._files is None:
            self._broker_ports[id] = port
        self.brokers[id] = self._broker(id, port)
        self.brokers[id].start()
        return id

    def kill(self, id: int) -> None:
        """End a broker as `kill -9` would: nothing is answered, handed over or written any more.

        Args:
            id: The broker.
        """
        self._of(id).kill()

    def stop_broker(self, id: int) -> None:
        """Stop a broker in order: what it leads is handed over first.

        Args:
            id: The broker.
        """
        self._of(id).stop()

    def restart(self, id: int) -> None:
        """Start a broker again with the same data on the same port; stop it in order first, if it runs.

        Args:
            id: The broker.
        """
        broker = self._of(id)
        broker.stop()
        broker.start()

    def isolate(self, one_side: Iterable[int], other_side: Iterable[int]) -> None:
        """Isolate two sides from each other. Clients still reach all brokers.

        Example:
            import tidelog.testing

            with tidelog.testing.Cluster(brokers=3) as cluster:
                cluster.isolate({1}, {2, 3})
                print(cluster.controller)
                cluster.heal()

        Args:
            one_side: Ids of brokers.
            other_side: Ids of the brokers that those no longer reach, nor are reached by.
        """
        ones, others = tuple(one_side), tuple(other_side)
        for id in (*ones, *others):
            self._of(id)
        self.links.isolate(ones, others)

    def heal(self) -> None:
        """Let all brokers reach each other again."""
        self.links.heal()

    @property
    def controller(self) -> int | None:
        """The id of the active controller; None while there is none."""
        return next((id for id, broker in self.brokers.items() if broker.is_controller), None)

    def _of(self, id: int) -> Broker:
        if id not in self.brokers:
            there = ", ".join(map(str, self.brokers)) or "none, as it is not started"
            raise ValueError(f"the cluster has no broker {id!r}; its brokers are {there}")
        return self.brokers[id]

    def _broker(self, id: int, port: int) -> Broker:
        replicas = min(3, self._size)
        settings: dict[str, SettingValue] = {
            **CLUSTER_SETTINGS,
            "default.replication.factor": replicas,
            "min.insync.replicas": max(1, replicas - 1),
            **self._settings,
            "node.id": id,
            "controller.quorum.voters": self._voters,
        }
        if id in self._racks:
            settings["broker.rack"] = self._racks[id]
        if self._files is not None:
            settings |= secured_listeners(self._files, port, self._broker_ports[id])
        return Broker(
            settings=settings,
            data_dir=f"{self.data_dir}/broker-{id}",
            port=port,
            network=self.links.network_of(id, self._broker_ports[id]),
        )

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "Cluster":
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)


def secured_listeners(files: "SecuredFiles", port: int, broker_port: int) -> dict[str, SettingValue]:
    """Clients and brokers have a listener each; brokers know each other by their certificates."""
    protocol = files.security.protocol.upper()
    return {
        **files.settings(listener="CLIENTS"),
        "listeners": f"CLIENTS://127.0.0.1:{port},BROKERS://127.0.0.1:{broker_port}",
        "listener.security.protocol.map": f"CLIENTS:{protocol},BROKERS:SSL",
        "inter.broker.listener.name": "BROKERS",
        "listener.name.brokers.ssl.client.auth": "required",
    }
