"""The order in which a broker acts on a metadata change: a change of it must be deliberate."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.invariant import InvariantError
from tidelog.broker.controller.metadata_stages import MetadataStage, listen, metadata_stages

ORDER = ["partitions", "groups", "transactions", "lifecycle", "controller", "limits"]


class Metadata:
    def __init__(self) -> None:
        self.config = "the config of now"
        self.listeners: list[Any] = []

    def on_change(self, listener: Any) -> None:
        self.listeners.append(listener)

    async def tell(self, delta: str) -> None:
        for listener in self.listeners:
            acting = listener(delta)
            if acting is not None:
                await acting


def stages(calls: list[tuple[object, ...]]) -> tuple[Metadata, list[MetadataStage]]:
    metadata = Metadata()

    def part(name: str) -> Any:
        return SimpleNamespace(on_change=lambda *given: calls.append((name, *given)))

    coordinators = [
        SimpleNamespace(registration=SimpleNamespace(name=name), on_change=part(name).on_change)
        for name in ("groups", "transactions")
    ]
    others = {name: part(name) for name in ("partitions", "lifecycle", "controller")}
    services: Any = SimpleNamespace(metadata=metadata, coordinators=coordinators, **others)
    return metadata, metadata_stages(services, lambda: calls.append(("limits",)))


def test_a_change_passes_through_the_stages_in_order() -> None:
    calls: list[tuple[object, ...]] = []
    metadata, declared = stages(calls)
    assert [stage.name for stage in declared] == ORDER
    listen(metadata, declared)  # type: ignore[arg-type]
    run(metadata.tell("delta"))
    assert [call[0] for call in calls] == ORDER
    assert calls[0] == ("partitions", "delta", "the config of now")
    assert calls[1:] == [(name, "delta") for name in ORDER[1:-1]] + [("limits",)]


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("groups", "partitions"),
        ("transactions", "partitions"),
        ("transactions", "groups"),
        ("lifecycle", "partitions"),
        ("lifecycle", "groups"),
        ("lifecycle", "transactions"),
    ],
)
def test_a_stage_ahead_of_one_that_it_builds_on_is_a_bug(early: str, late: str) -> None:
    metadata, declared = stages([])
    by_name = {stage.name: stage for stage in declared}
    rest = [stage for stage in declared if stage.name not in (early, late)]
    with pytest.raises(InvariantError, match=r"metadata stage \w+ must come after"):
        listen(metadata, [*rest, by_name[early], by_name[late]])  # type: ignore[arg-type]
