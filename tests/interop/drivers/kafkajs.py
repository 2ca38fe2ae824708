"""KafkaJS, through the agent in kafkajs/: it reads only in groups."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.interop.agent import Agent
from tests.interop.driver import Record
from tests.interop.drivers.agent_driver import AgentDriver
from tests.interop.kafka_jars import CACHE, HERE, lock, run

SOURCES = HERE / "kafkajs"


def missing_tool() -> str | None:
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: apt-get install nodejs npm"
    return None


def installed() -> Path:
    """KafkaJS and its codecs in the cache directory, fetched again when package.json changes."""
    directory = CACHE / "kafkajs"
    with lock("kafkajs"):
        wanted = (SOURCES / "package.json").read_text()
        stamp = directory / "installed.json"
        if not stamp.exists() or stamp.read_text() != wanted:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "package.json").write_text(wanted)
            run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], cwd=directory)
            stamp.write_text(wanted)
    return directory / "node_modules"


class Driver(AgentDriver):
    name = "kafkajs"
    assignors = ("range", "roundrobin")
    alters_without_joining = False
    resets = ("earliest", "latest")

    def __init__(self, bootstrap: str) -> None:
        environment = os.environ | {"NODE_PATH": str(installed()), "KAFKAJS_NO_PARTITIONER_WARNING": "1"}
        command = ["node", str(SOURCES / "agent.js"), bootstrap]
        super().__init__(bootstrap, lambda: Agent(command, environment=environment))

    @staticmethod
    def can_write(record: Record) -> bool:
        return all(value is not None for _, value in record.headers)

    def replace_configs(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        self._agent.ask("replace_configs", kind=kind, name=name, configs=dict(configs))
