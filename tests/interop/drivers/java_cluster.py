"""The part of the Java driver that only makes sense on a cluster."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tests.interop.driver import PATIENCE_S, Place


class Quorum(NamedTuple):
    leader: int
    epoch: int
    high_watermark: int
    voters: dict[int, "QuorumMember"]
    observers: dict[int, "QuorumMember"]
    endpoints: dict[int, list[str]]


class QuorumMember(NamedTuple):
    directory: str
    log_end: int
    caught_up_ms: int
    fetched_ms: int


class Moving(NamedTuple):
    replicas: list[int]
    adding: list[int]
    removing: list[int]


class ClusterCalls:
    _agent: Any

    def describe_quorum(self) -> Quorum:
        found = self._agent.ask("describe_quorum")
        for kind in ("voters", "observers"):
            found[kind] = {int(id): QuorumMember(*member) for id, member in found[kind].items()}
        found["endpoints"] = {int(id): endpoints for id, endpoints in found["endpoints"].items()}
        return Quorum(**found)

    def describe_features(self) -> Any:
        return self._agent.ask("describe_features")

    def elect_leaders(self, kind: str, places: Iterable[Place] | None) -> dict[Place, int]:
        """Error codes, 0 for a new leader; where none was needed, nothing."""
        named = None if places is None else [list(place) for place in places]
        answer = self._agent.ask("elect_leaders", kind=kind, places=named)
        return {(topic, index): code for topic, index, code in answer}

    def reassign(self, moves: dict[Place, Sequence[int] | None]) -> None:
        """None takes a move back."""
        self._agent.ask("reassign", moves=[[*place, replicas] for place, replicas in moves.items()])

    def list_reassignments(self) -> dict[Place, Moving]:
        answer = self._agent.ask("list_reassignments")
        return {(topic, index): Moving(*move) for topic, index, *move in answer}

    def create_assigned(self, topic: str, replicas: Sequence[Sequence[int]]) -> None:
        self._agent.ask("create_assigned", topic=topic, replicas=replicas)

    def add_assigned(self, topic: str, total: int, replicas: Sequence[Sequence[int]]) -> None:
        self._agent.ask("add_assigned", topic=topic, total=total, replicas=replicas)

    def coordinator(self, group: str) -> int:
        return int(self._agent.ask("coordinator", group=group))

    def bytes_by_broker(self, rack: str, topic: str, count: int) -> dict[int, int]:
        """Read so many records of a partition from inside a rack: who sent how much."""
        patience_ms = int(PATIENCE_S * 1000)
        answer = self._agent.ask("read_in_rack", rack=rack, topic=topic, count=count, patience_ms=patience_ms)
        return {int(id): size for id, size in answer.items()}
