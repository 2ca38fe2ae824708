"""Apache Kafka's own Java client, through the agent in java/: the newest, and the one that Spark brings."""

import os

from tests.interop.agent import Agent
from tests.interop.drivers.agent_driver import ConsumingAgentDriver
from tests.interop.drivers.java_cluster import ClusterCalls
from tests.interop.kafka_jars import HERE, JVM, QUIET, client_jar, compiled, missing_tool, pinned
from tests.interop.shares.admin import ShareAdmin
from tests.interop.shares.member import ShareMembers

__all__ = ["Driver", "OlderDriver", "ToolFailed", "missing_tool"]


class AnyRelease(ClusterCalls, ConsumingAgentDriver):
    """What the agent in java/ can do with every release of the client."""

    assignors = ("range", "roundrobin", "sticky", "cooperative-sticky")
    can_be_static = True
    tells_of_fencing = True

    def __init__(self, bootstrap: str, class_path_start: str = "") -> None:
        path = class_path_start + compiled(HERE / "java")
        command = [*JVM, "-Xmx512m", *QUIET, "-cp", path, "Agent", bootstrap]
        super().__init__(bootstrap, lambda: Agent(command))

    def offset_for_time(self, topic: str, time_ms: int, partition: int = 0) -> int | None:
        offset = int(self._agent.ask("offset_for_time", topic=topic, time_ms=time_ms, partition=partition))
        return None if offset < 0 else offset

    def tool(self, name: str, *arguments: str, stdin: str = "") -> str:
        """Run one of Kafka's command-line tools by its class and give what it printed."""
        answer = self._agent.ask("tool", **{"class": name, "arguments": arguments, "stdin": stdin})
        if answer["status"] != 0:
            raise ToolFailed(answer["output"] + answer["errors"])
        return str(answer["output"])


class Driver(ShareAdmin, ShareMembers, AnyRelease):
    name = "java"
    polls_what_it_renewed = True


class OlderDriver(AnyRelease):
    name = "java-3.9"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap, f"{client_jar(pinned('kafka.older.version'))}{os.pathsep}")


class ToolFailed(Exception):
    """A command-line tool ended with a status other than 0."""
