"""The real broker in-process, whole clusters of them, pytest fixtures, and the simulator.

with tidelog.testing.Broker() as broker:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

Names are loaded on first use: the pytest plugin lives here and must cost nothing in runs without a broker.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.testing.broker import Broker as Broker
    from tidelog.testing.cluster import Cluster as Cluster
    from tidelog.testing.security import Security as Security

__all__ = ["Broker", "Cluster", "Security"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from tidelog.testing.broker import Broker

        return Broker
    if name == "Cluster":
        from tidelog.testing.cluster import Cluster

        return Cluster
    if name == "Security":
        from tidelog.testing.security import Security

        return Security
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
