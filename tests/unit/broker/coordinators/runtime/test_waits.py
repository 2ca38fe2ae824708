import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.broker.coordinators.runtime.waits import LOADING_SECONDS, UNKNOWN_SECONDS, CoordinatorWaits
from tidelog.broker.handlers.when_served import waits_for_group, waits_for_transactional_id

HERE, ELSEWHERE = 1, 2


class Coordinators:
    """Of one topic with one partition."""

    def __init__(self, leader: int | None = HERE) -> None:
        self.leader = leader
        self.brokers = [HERE, ELSEWHERE]
        self.served: set[int] = set()
        self.waits = CoordinatorWaits(self, "state", self.served.__contains__)  # type: ignore[arg-type]

    node_id = HERE

    @property
    def image(self) -> Any:
        known = None if self.leader is None else SimpleNamespace(leader=self.leader)
        return SimpleNamespace(partition=lambda topic, index: known, brokers=self.brokers)

    def until_served(self, key: str) -> Any:
        return self.waits.until_served(0)


def seconds_waited(coordinators: Coordinators, then: Any = None) -> float:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        if then is not None:
            loop.call_later(0.5, then)
        waiting = coordinators.waits.until_served(0)
        if waiting is not None:
            await waiting
        return loop.time()

    return run(main())


@pytest.mark.parametrize("is_served", [True, False])
def test_a_request_does_not_wait_for_a_partition_that_is_served_here_or_elsewhere(is_served: bool) -> None:
    coordinators = Coordinators(HERE if is_served else ELSEWHERE)
    if is_served:
        coordinators.served.add(0)
    assert coordinators.waits.until_served(0) is None


def test_a_broker_alone_knows_which_topics_there_are() -> None:
    coordinators = Coordinators(leader=None)
    coordinators.brokers.pop()
    assert coordinators.waits.until_served(0) is None


@pytest.mark.parametrize(("leader", "limit"), [(HERE, LOADING_SECONDS), (None, UNKNOWN_SECONDS)])
def test_the_wait_has_an_end(leader: int | None, limit: float) -> None:
    coordinators = Coordinators(leader)
    assert seconds_waited(coordinators) == pytest.approx(limit)
    assert not any(coordinators.waits._waiting.values())


def test_the_wait_is_over_once_it_is_served_or_the_broker_stops() -> None:
    for end in (lambda each: each.waits.wake(0), lambda each: each.waits.close()):
        coordinators = Coordinators()
        assert seconds_waited(coordinators, lambda end=end, each=coordinators: end(each)) == pytest.approx(
            0.5
        )
    assert coordinators.waits.until_served(0) is None  # it has stopped


def test_a_request_is_handled_when_its_coordinator_serves() -> None:
    groups = Coordinators()
    context: Any = SimpleNamespace(services=SimpleNamespace(groups=groups))
    handled: list[str] = []

    @waits_for_group()
    def handle(context: Any, request: Any) -> str:
        handled.append(request.group_id)
        return "answer"

    async def main() -> None:
        request = SimpleNamespace(group_id="g")
        answer = asyncio.ensure_future(handle(context, request))
        await asyncio.sleep(0.1)
        assert not handled
        groups.served.add(0)
        groups.waits.wake(0)
        assert await answer == "answer"
        assert handle(context, request) == "answer"  # now at once

    run(main())


def test_a_producer_without_a_transactional_id_does_not_wait() -> None:
    context: Any = SimpleNamespace(
        services=SimpleNamespace(transactions=SimpleNamespace(service=Coordinators()))
    )
    handle = waits_for_transactional_id(lambda context, request: "answer")
    assert handle(context, SimpleNamespace(transactional_id=None)) == "answer"


def test_a_client_that_goes_while_it_waits_leaves_nothing_behind() -> None:
    coordinators = Coordinators()

    async def main() -> None:
        waiting = [asyncio.ensure_future(coordinators.waits.until_served(0)) for _ in range(3)]  # type: ignore[arg-type]
        await asyncio.sleep(0.1)
        for each in waiting[:2]:
            each.cancel()
        await asyncio.sleep(0)
        assert len(coordinators.waits._waiting[0]) == 1
        waiting[2].cancel()
        await asyncio.sleep(0)
        assert not coordinators.waits._waiting

    run(main())
