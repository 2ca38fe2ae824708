"""`tidelog.AsyncQueue` against a real broker: the same jobs, from a loop that is never blocked."""

import asyncio
import time
import uuid
from collections import Counter

import pytest

from tidelog import AsyncQueue, Job, JobLost, UnknownTopic

WAIT_MS = 20_000


@pytest.fixture
def group() -> str:
    return f"workers-{uuid.uuid4().hex[:8]}"


def test_async_there_and_back(broker_address: str, topic: str, group: str) -> None:
    async def scenario() -> None:
        async with AsyncQueue(topic, broker_address, group_id=group) as jobs:
            await asyncio.gather(*(jobs.send(str(number)) for number in range(50)))
            seen = []
            async for job in jobs.take(timeout_ms=WAIT_MS, limit=50):
                with job:
                    seen.append(job.value)
            await jobs.flush()
            assert sorted(seen) == sorted(b"%d" % number for number in range(50))
            assert await jobs.get(500) is None

    asyncio.run(scenario())


def test_tasks_share_the_jobs_and_the_loop_goes_on(broker_address: str, topic: str, group: str) -> None:
    async def scenario() -> None:
        done: Counter[bytes] = Counter()
        pauses = []

        async def tick() -> None:
            while True:
                before = time.monotonic()
                await asyncio.sleep(0.01)
                pauses.append(time.monotonic() - before)

        async def handle(job: Job[bytes, bytes]) -> None:
            await asyncio.sleep(0.01)
            if job.delivery_count == 1 and job.value == b"5":
                raise ValueError("the first attempt fails")
            done[job.value or b""] += 1

        ticker = asyncio.create_task(tick())
        async with AsyncQueue(topic, broker_address, group_id=group) as jobs:
            for number in range(40):
                await jobs.send(str(number))
            await jobs.work(handle, workers=4, timeout_ms=4000)
        ticker.cancel()
        assert done == Counter({b"%d" % number: 1 for number in range(40)})
        assert max(pauses) < 0.5

    asyncio.run(scenario())


def test_stopping_cancels_what_takes_too_long_and_gives_it_back(
    broker_address: str, topic: str, group: str
) -> None:
    async def scenario() -> None:
        async with AsyncQueue(topic, broker_address, group_id=group) as jobs:
            await jobs.send("slow")

            async def handle(job: Job[bytes, bytes]) -> None:
                jobs.stop()
                await asyncio.sleep(60)

            await asyncio.wait_for(jobs.work(handle, workers=2, grace_ms=200), 30)
            again = await jobs.get(WAIT_MS)
            assert again is not None
            assert again.delivery_count == 2
            again.done()
            await jobs.flush(again)

    asyncio.run(scenario())


def test_errors_reach_the_loop(broker_address: str, topic: str, group: str) -> None:
    async def scenario() -> None:
        async with AsyncQueue("no-such-topic", broker_address) as jobs:
            with pytest.raises(UnknownTopic):
                await jobs.get(WAIT_MS)
        async with AsyncQueue(topic, broker_address, group_id=group) as jobs:
            await jobs.send("x")
            job = await jobs.get(WAIT_MS)
            assert job is not None
        with pytest.raises(JobLost, match="closed"):
            job.done()

    asyncio.run(scenario())
