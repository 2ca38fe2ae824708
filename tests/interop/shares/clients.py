"""Every client that can be a member of a share group, by name."""

import os
from typing import Any

from tests.interop.agent import Agent
from tests.interop.all_drivers import Client
from tests.interop.drivers import confluent, franz_go, java
from tests.interop.group_member import Process
from tests.interop.kafka_jars import HERE, JVM, QUIET, client_jar, compiled, pinned
from tests.interop.shares.member import ShareMembers


class NewestJava(ShareMembers):
    """The newest kafka-clients; it does nothing here but read in share groups."""

    name = "java-newest"
    polls_what_it_renewed = True

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        newest = client_jar(pinned("kafka.newest.version"))
        path = f"{newest}{os.pathsep}{compiled(HERE / 'java')}"
        self._command = [*JVM, "-Xmx256m", *QUIET, "-cp", path, "Agent", bootstrap]
        self._shared = self._start_process()

    def _start_process(self) -> Process:
        return Agent(self._command)

    def _shared_process(self) -> Process:
        return self._shared

    def close(self) -> None:
        self._shared.close()


SHARE_CLIENTS: dict[str, Client] = {
    "java": Client(java.Driver, java.missing_tool()),
    "java-newest": Client(NewestJava, java.missing_tool()),
    "confluent": Client(confluent.Driver, None),
    "franz-go": Client(franz_go.Driver, franz_go.missing_tool()),
}


def able(**wanted: Any) -> list[str]:
    """The clients whose drivers have these traits."""
    return [
        name
        for name, client in SHARE_CLIENTS.items()
        if all(getattr(client.driver, trait) == value for trait, value in wanted.items())
    ]
