"""References of many schemas are followed once, and within a bound: it is done on the event loop."""

import pytest

from tests.rigs.counted_calls import counted_calls
from tests.rigs.registry import Registry, schema
from tidelog.registry.compatibility import Checks, Level
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import jobs, references
from tidelog.registry.state.jobs import INLINED_MAX, schema_job
from tidelog.registry.state.references import source_of


def referring(registry: Registry, versions: int, targets: int) -> None:
    """A subject whose versions refer to the same others."""
    for number in range(targets):
        registry.register(f"target-{number}", f"t{number}")
    refers = [(f"n{number}", f"target-{number}", 1) for number in range(targets)]
    for number in range(versions):
        registry.register("many", schema(f"v{number}", *refers))


def work(registry: Registry, level: Level = Level.NONE) -> int:
    with counted_calls() as count:
        schema_job(registry.state, "many", schema("new"), normalize=False, checks=Checks(level))
    return count()


@pytest.mark.parametrize("level", [Level.NONE, Level.FULL_TRANSITIVE])
def test_versions_with_the_same_references_cost_little_more_than_one(level):
    registry, other = Registry(), Registry()
    referring(registry, 2, 40)
    referring(other, 40, 40)
    assert work(other, level) < 3 * work(registry, level)


def test_many_references_cost_no_more_than_their_number():
    registry, other = Registry(), Registry()
    referring(registry, 1, 100)
    referring(other, 1, 200)
    assert work(other) < 2.2 * work(registry)


def test_only_the_newest_versions_may_be_written_out():
    registry = Registry()
    referring(registry, INLINED_MAX + 5, 1)
    job = schema_job(registry.state, "many", schema("new"), normalize=False)
    assert [one.version for one in job.inlined] == [*range(INLINED_MAX + 5, 5, -1)]


def test_references_beyond_the_bound_are_refused(monkeypatch):
    registry = Registry()
    referring(registry, 1, 5)
    registry.register("many", schema("w", *[(f"m{number}", f"target-{number}", 1) for number in range(5)]))
    monkeypatch.setattr(jobs, "STEPS_MAX", 8)
    with pytest.raises(RegistryError, match="not transitive") as refused:
        work(registry, Level.BACKWARD_TRANSITIVE)
    assert refused.value.code is RegistryCode.INVALID_SCHEMA
    work(registry, Level.BACKWARD)
    monkeypatch.setattr(references, "STEPS_MAX", 4)
    with pytest.raises(RegistryError, match="Join some of them"):
        source_of(registry.state, "many", registry.state.subjects["many"][1].schema)
