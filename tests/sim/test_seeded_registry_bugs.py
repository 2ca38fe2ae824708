"""The checks of the schema registry can fail: what is broken here on purpose, one of them catches."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.sim.test_seeded_bugs import problems_until
from tidelog.broker.coordinators.runtime.served_partition import ServedPartition
from tidelog.broker.registry.led import LedRegistry
from tidelog.coordination.decision import ShardDecision
from tidelog.registry.state import registering
from tidelog.registry.state.shard import RegistryShard
from tidelog.registry.state.state import RegistryState
from tidelog.testing.sim.cluster.scenario import Scenario, rough_registry

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")

Replay = Callable[[RegistryShard, bytes, bytes | None], None]
replay = RegistryShard.replay


def registry(*faults: str, **plan: Any) -> Callable[[int], Scenario]:
    return lambda seed: rough_registry(seed, *faults, **plan)


def load_by(careless: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the load of a shard alone: what a leader decides on, it applies as ever."""

    def apply(self: RegistryShard, decision: ShardDecision[Any], now: float, now_ms: int) -> None:
        for key, value in decision.records:
            replay(self, key, value)

    monkeypatch.setattr(RegistryShard, "replay", careless)
    monkeypatch.setattr(RegistryShard, "apply", apply)


async def no_wait(self: LedRegistry) -> None:
    pass


# Nothing is lost


def test_an_answer_that_does_not_wait_for_its_own_records(monkeypatch: pytest.MonkeyPatch) -> None:
    run = ServedPartition.run

    def at_once(self: ServedPartition[Any], decision: ShardDecision[Any], *rest: Any) -> Any:
        answer = run(self, decision, *rest)
        if isinstance(self._shard, RegistryShard) and decision.has_answer:
            decision.release(*self.now)
        return answer

    monkeypatch.setattr(ServedPartition, "run", at_once)
    monkeypatch.setattr(LedRegistry, "until_committed", no_wait)
    problems_until("^lost registration", registry("kill", "isolate", "halves"))


def test_an_answer_that_does_not_wait_for_the_records_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema is known that was not committed: its registration got no answer, and the next one does."""
    monkeypatch.setattr(LedRegistry, "until_committed", no_wait)
    problems_until(
        "^lost registration|^two ",
        registry("power", "isolate", "halves", durability="fsync", clients=5, calls_per_second=15.0),
        first_seed=115,  # about one seed in sixty shows it
    )


def test_a_load_that_skips_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: RegistryShard, key: bytes, value: bytes | None) -> None:
        if value is not None and b"DELETE_SUBJECT" not in key:
            replay(self, key, value)

    load_by(careless, monkeypatch)
    problems_until("^lost change", registry("kill", "leader_change", calls_per_second=15.0))


def test_a_load_that_skips_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: RegistryShard, key: bytes, value: bytes | None) -> None:
        if b'"CONFIG","subject":"' not in key:
            replay(self, key, value)

    load_by(careless, monkeypatch)
    problems_until("^lost config", registry("kill", "leader_change"))


def test_a_load_that_skips_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, int] = {}

    def careless(self: RegistryShard, key: bytes, value: bytes | None) -> None:
        seen[id(self)] = seen.get(id(self), 0) + 1
        if seen[id(self)] % 2:
            replay(self, key, value)

    load_by(careless, monkeypatch)
    problems_until("^missing read", registry("kill", "leader_change", calls_per_second=15.0))


# Ids and versions


def test_a_content_that_gets_a_new_id_in_each_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registering, "ids_of", lambda *_: [])
    problems_until("^two ids", registry(clients=5, calls_per_second=15.0))


def test_an_id_that_is_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    id_of = registering._id_of

    def careless(state: RegistryState, request: Any, schema: Any) -> int:
        context = state.context(request.subject)
        if context is not None:
            context.highest_id = max(context.by_id, default=0)  # as if deleted schemas had never been
        return id_of(state, request, schema)

    monkeypatch.setattr(registering, "_id_of", careless)
    problems_until("^two contents", registry(clients=5, calls_per_second=15.0))


def test_versions_with_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    next_version = registering._next_version
    monkeypatch.setattr(registering, "_next_version", lambda *given: next_version(*given) + 1)
    problems_until("^versions with gaps", registry())


def test_versions_that_descend(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(state: RegistryState, request: Any) -> int:
        return 90 - len(state.subjects.get(request.subject, {}))

    monkeypatch.setattr(registering, "_next_version", down)
    problems_until("^descending versions", registry())
