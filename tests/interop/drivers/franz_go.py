"""franz-go, through the agent in franz_go/: a strict client that uses the newest versions and topic ids."""

import shutil

from tests.interop.agent import Agent
from tests.interop.drivers.agent_driver import ConsumingAgentDriver
from tests.interop.kafka_jars import CACHE, HERE, lock, run
from tests.interop.shares.admin import ShareAdmin
from tests.interop.shares.member import ShareMembers

SOURCES = HERE / "franz_go"


def missing_tool() -> str | None:
    return None if shutil.which("go") else "go is not installed: see go.dev/doc/install"


class Driver(ShareAdmin, ShareMembers, ConsumingAgentDriver):
    name = "franz-go"
    assignors = ("range", "roundrobin", "sticky", "cooperative-sticky")
    can_be_static = True
    tells_of_fencing = True

    def __init__(self, bootstrap: str) -> None:
        program = CACHE / "franz-go-agent"
        with lock("franz-go"):  # go itself sees when nothing has to be built
            run(["go", "build", "-o", str(program), "."], cwd=SOURCES)
        super().__init__(bootstrap, lambda: Agent([str(program), bootstrap]))
