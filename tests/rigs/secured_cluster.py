"""Three brokers on threads of this process whose connections are secured, each with settings of its own."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

from tidelog.server.free_ports import free_ports
from tidelog.testing.broker import Broker
from tidelog.testing.cluster import CLUSTER_SETTINGS


class SecuredCluster:
    def __init__(
        self, directory: Path, settings_of: Callable[[int], Mapping[str, str]], protocol: str = "SSL"
    ) -> None:
        """`settings_of` gives the settings of a broker by its id."""
        ports = dict(zip((1, 2, 3), free_ports("127.0.0.1", 3), strict=True))
        voters = ",".join(f"{id}@localhost:{port}" for id, port in ports.items())
        self.bootstrap_servers = ",".join(f"localhost:{port}" for port in ports.values())
        self.brokers = {
            id: Broker(
                data_dir=directory / f"broker-{id}",
                settings={
                    **CLUSTER_SETTINGS,
                    "node.id": id,
                    "controller.quorum.voters": voters,
                    "listeners": f"{protocol}://localhost:{port}",
                    **settings_of(id),
                },
            )
            for id, port in ports.items()
        }

    def begin(self, *ids: int) -> list["Future[None]"]:
        """Start brokers; each of the futures ends when its broker takes part in the cluster."""
        return [_begin(self.brokers[id].start) for id in ids]

    def start(self, *ids: int) -> None:
        for started in self.begin(*ids):
            started.result(60)

    def stop(self) -> None:
        for broker in self.brokers.values():
            broker.kill()


def _begin(work: Callable[[], None]) -> "Future[None]":
    """On a thread that does not keep the process from ending."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done
