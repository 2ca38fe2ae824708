"""NATS with JetStream on file. By default it syncs every two minutes; until then the page cache has it."""

import subprocess

from benches.versus.rivals.jetstream import JetStream
from benches.versus.rivals.server import Rival


class Nats(Rival):
    name = "NATS JetStream"
    program = package = "nats-server"

    def command(self) -> list[str]:
        return [str(self.path()), "-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", str(self._data)]

    def answer(self) -> None:
        with self.client() as server:
            server.ask("INFO")

    def client(self) -> JetStream:
        return JetStream(self.address)

    @classmethod
    def version(cls) -> str:
        said = subprocess.run([str(cls.path()), "--version"], capture_output=True, text=True, check=True)
        return said.stdout.split()[-1].removeprefix("v")
