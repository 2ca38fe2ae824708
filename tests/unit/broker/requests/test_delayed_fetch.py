import asyncio

import pytest

from tests.rigs.virtual_time import run
from tidelog.broker.requests.delayed_fetch import DelayedFetch
from tidelog.replication.fetch_watchers import FetchWatcher, FetchWatchers
from tidelog.wire.messages.fetch import FetchResponse


class Source:
    """The part of a partition that a waiting fetch uses."""

    def __init__(self) -> None:
        self.watchers = FetchWatchers()

    @property
    def waiting(self) -> list[FetchWatcher]:
        return list(self.watchers.consumers)


def delayed(sources: list[Source], missing: int, wait_ms: int = 500) -> DelayedFetch:
    return DelayedFetch(sources, missing, wait_ms, answer=lambda: FetchResponse(session_id=7))  # type: ignore[arg-type]


def test_it_is_answered_when_enough_bytes_have_come_from_all_partitions_together() -> None:
    async def main() -> None:
        sources = [Source(), Source()]
        fetch = delayed(sources, missing=100)
        sources[0].waiting[0].on_bytes(60)
        assert not fetch.future.done()
        sources[1].waiting[0].on_bytes(40)
        assert (await fetch.future).session_id == 7
        await asyncio.sleep(0)
        assert sources[0].waiting == sources[1].waiting == []

    run(main())


def test_it_is_answered_when_its_time_is_over() -> None:
    async def main() -> None:
        source = Source()
        began = asyncio.get_running_loop().time()
        await delayed([source], missing=1, wait_ms=500).future
        assert asyncio.get_running_loop().time() - began == pytest.approx(0.5)

    run(main())


def test_a_change_without_bytes_answers_at_once() -> None:
    async def main() -> None:
        source = Source()
        fetch = delayed([source], missing=1_000_000)
        fetch.on_bytes(0)
        assert fetch.future.done()

    run(main())


def test_a_peer_that_left_leaves_nothing_behind() -> None:
    async def main() -> None:
        source = Source()
        fetch = delayed([source], missing=1)
        fetch.future.cancel()
        await asyncio.sleep(0)
        assert source.waiting == []

    run(main())


def test_a_failure_while_reading_reaches_whoever_waits() -> None:
    async def main() -> None:
        def fail() -> FetchResponse:
            raise ValueError("broken")

        fetch = DelayedFetch([], 1, 10, answer=fail)
        with pytest.raises(ValueError, match="broken"):
            await fetch.future

    run(main())
