"""franz-go, through the agent in franz_go/: a strict client that uses the newest versions and topic ids."""

import shutil

from agent import Agent, ConsumingAgentDriver
from kafka_jars import CACHE, HERE, lock, run

SOURCES = HERE / "franz_go"


def missing_tool() -> str | None:
    return None if shutil.which("go") else "go is not installed: see go.dev/doc/install"


class Driver(ConsumingAgentDriver):
    name = "franz-go"

    def __init__(self, bootstrap: str) -> None:
        program = CACHE / "franz-go-agent"
        with lock("franz-go"):  # go itself sees when nothing has to be built
            run(["go", "build", "-o", str(program), "."], cwd=SOURCES)
        super().__init__(Agent([str(program), bootstrap]))
