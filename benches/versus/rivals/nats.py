"""NATS with JetStream on file. By default it syncs every two minutes; until then the page cache has it."""

import subprocess

from versus.generator import Run
from versus.rivals.jetstream import JetStream
from versus.rivals.server import Rival


class Nats(Rival):
    name = "NATS JetStream"
    program = package = "nats-server"

    def command(self) -> list[str]:
        return [str(self.path()), "-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", str(self._data)]

    def answer(self) -> None:
        with JetStream(self.address) as server:
            server.ask("INFO")

    def new_topic(self, partitions: int = 1, replicas: int | None = None) -> str:
        self._topics += 1
        name = f"bench-{self._topics}"
        with JetStream(self.address) as server:
            server.create(name)
        return name

    def delete_topic(self, name: str) -> None:
        with JetStream(self.address) as server:
            server.delete(name)

    def produce(self, topic: str, size: int, count: int) -> Run:
        with JetStream(self.address) as server:
            return server.produce(topic, size, count)

    def consume(self, topic: str, count: int) -> Run:
        with JetStream(self.address) as server:
            return server.consume(topic, count)

    @classmethod
    def version(cls) -> str:
        said = subprocess.run([str(cls.path()), "--version"], capture_output=True, text=True, check=True)
        return said.stdout.split()[-1].removeprefix("v")
