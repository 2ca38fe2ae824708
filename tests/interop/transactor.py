"""A transactional producer of any client, step by step.

The commands of the agents in other languages: txn_open (init), txn_begin, txn_send (until all are
acknowledged), txn_commit, txn_abort, txn_close (without an end), txn_copy (reads as a member of a group and
writes elsewhere, with the group's offsets), and read_committed.
"""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from tests.interop.driver import PATIENCE_S

Placed = tuple[str, int, str]
"""A value, and the topic and partition that it goes to."""

_NUMBERS = itertools.count(1)


class Transactor(Protocol):
    def begin(self) -> None: ...

    def send(self, records: Iterable[Placed]) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def copy(self, source: str, target: str, group: str, count: int, *, commit: bool) -> None:
        """So many records, in transactions that it begins and ends itself."""

    def close(self) -> None: ...


class AgentTransactor:
    def __init__(self, agent: Any, bootstrap: str, transactional_id: str, timeout_ms: int) -> None:
        self._agent = agent
        self._names = {
            "transactor": f"transactor-{next(_NUMBERS)}",
            "bootstrap": bootstrap,
            "transactional_id": transactional_id,
            "timeout_ms": timeout_ms,
        }
        self._ask("open")

    def _ask(self, do: str, **arguments: Any) -> Any:
        return self._agent.ask(f"txn_{do}", **self._names, **arguments)

    def begin(self) -> None:
        self._ask("begin")

    def send(self, records: Iterable[Placed]) -> None:
        self._ask("send", records=[], placed=[list(record) for record in records])

    def commit(self) -> None:
        self._ask("commit")

    def abort(self) -> None:
        self._ask("abort")

    def copy(self, source: str, target: str, group: str, count: int, *, commit: bool) -> None:
        self._ask(
            "copy",
            source=source,
            target=target,
            group=group,
            count=count,
            commit=commit,
            patience_ms=int(PATIENCE_S * 1000),
        )

    def close(self) -> None:
        self._ask("close")


class AgentTransactions:
    """The part of a driver over an agent that is about transactions."""

    _agent: Any
    _bootstrap: str

    def open_transactor(self, transactional_id: str, timeout_ms: int = 60_000) -> Transactor:
        return AgentTransactor(self._agent, self._bootstrap, transactional_id, timeout_ms)

    def read_committed(self, topic: str, partitions: Sequence[int], count: int) -> list[tuple[int, str]]:
        """Values with their partitions, as they come, from the beginning; at least so many."""
        found = self._agent.ask(
            "read_committed",
            bootstrap=self._bootstrap,
            topic=topic,
            partitions=list(partitions),
            count=count,
            patience_ms=int(PATIENCE_S * 1000),
        )
        return [(partition, value) for partition, value in found]
