"""RabbitMQ with its plugin for streams, on a node of its own. Streams leave syncing to the page cache."""

import subprocess
from pathlib import Path

import psutil

from benches.versus.rivals.rabbitmq_stream import RabbitMqStream
from benches.versus.rivals.server import Rival, free_port

# The command on the path becomes the user rabbitmq and writes into the folders of the system's service.
HOME = Path("/usr/lib/rabbitmq")


class RabbitMq(Rival):
    name = "RabbitMQ streams"
    program = package = "rabbitmq-server"

    def start(self) -> None:
        # Erlang's name server would be left behind as a daemon, so there is one for this node alone.
        self._names_port = free_port()
        names = subprocess.Popen(["epmd", "-address", "127.0.0.1", "-port", str(self._names_port)])
        self._running.callback(names.wait)
        self._running.callback(names.terminate)
        self._amqp_port, self._node_port = free_port(), free_port()
        super().start()

    def command(self) -> list[str]:
        return [str(HOME / "bin" / self.program)]

    def environment(self) -> dict[str, str]:
        config, plugins = self._data / "rabbitmq.conf", self._data / "enabled_plugins"
        config.write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self._amqp_port}\n"
            f"stream.listeners.tcp.1 = 127.0.0.1:{self._port}\n"
        )
        plugins.write_text("[rabbitmq_stream].\n")
        return super().environment() | {
            "HOME": str(self._data),  # its cookie
            "ERL_EPMD_PORT": str(self._names_port),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(config),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_MNESIA_BASE": str(self._data / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._data / "log"),
            "RABBITMQ_NODENAME": f"bench-{self._port}@localhost",
            "RABBITMQ_NODE_PORT": str(self._amqp_port),
            "RABBITMQ_DIST_PORT": str(self._node_port),
        }

    @property
    def pids(self) -> list[int]:
        """Erlang's machine alone: the shell that started it only waits, and helpers below it come and go."""
        return [child.pid for child in psutil.Process(self._one().pid).children()]

    def answer(self) -> None:
        with self.client():
            pass

    def client(self) -> RabbitMqStream:
        return RabbitMqStream(self.address)

    @classmethod
    def version(cls) -> str:
        return next((HOME / "lib").glob("rabbitmq_server-*")).name.rpartition("-")[2]
