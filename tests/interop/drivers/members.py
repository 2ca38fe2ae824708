"""The part of a driver that opens members of consumer groups, and writers that go on by themselves."""

import sys
from typing import ClassVar

from tests.interop.agent import Agent
from tests.interop.group_member import GroupMember, Process
from tests.interop.stream_writer import StreamWriter
from tests.rigs.repository import ROOT


class Members:
    """Members share a process with others of the same client, or get their own that a test may kill."""

    name: str
    assignors: ClassVar[tuple[str, ...]]
    """What the client calls range, roundrobin, sticky or cooperative-sticky, as far as it has them."""
    can_commit = True
    alters_without_joining = True
    """Whether its admin client changes a group's offsets from outside."""
    metadata_readers: ClassVar[tuple[str, ...]] = ("member", "admin")
    """Which of its consumer and its admin client see the words beside committed offsets."""
    _bootstrap: str
    _shared: Process | None = None

    def join_group(
        self,
        group: str,
        topic: str,
        *,
        assignor: str = "range",
        instance_id: str | None = None,
        session_timeout_ms: int = 30_000,
        auto_commit: bool = True,
        reset: str = "earliest",
        own_process: bool = False,
        bootstrap: str | None = None,
    ) -> GroupMember:
        process = self._start_process() if own_process else self._shared_process()
        return GroupMember(
            process,
            own_process,
            bootstrap=bootstrap or self._bootstrap,
            group=group,
            topic=topic,
            assignor=assignor,
            instance_id=instance_id,
            session_timeout_ms=session_timeout_ms,
            auto_commit=auto_commit,
            reset=reset,
        )

    def start_writing(self, topic: str, partition: int = 0) -> StreamWriter:
        return StreamWriter(self._shared_process(), self._bootstrap, topic, partition)

    def _shared_process(self) -> Process:
        if self._shared is None:
            self._shared = self._start_process()
        return self._shared

    def _start_process(self) -> Process:
        """A Python client's members; drivers of other languages have their own agents."""
        return Agent([sys.executable, "-m", "tests.interop.members.agent", self.name], ROOT)

    def close_members(self) -> None:
        if self._shared is not None:
            self._shared.close()
