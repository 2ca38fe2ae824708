"""What handlers do wrong: a job is never done for one that has not done it, and workers go on."""

import asyncio
from types import TracebackType
from typing import Any

import pytest

from tidelog import AsyncQueue, Queue, UsageError
from tidelog.clients.queue.held import JobState
from tidelog.clients.queue.workers import handle
from tidelog.shares.states import AckType


class FakeJob:
    """Says how its block ended."""

    def __init__(self) -> None:
        self.ended = ""
        self.held = self
        self.state, self.fate = JobState.HELD, AckType.RELEASE

    def __enter__(self) -> "FakeJob":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.ended = "done" if kind is None else f"given back for {kind.__name__}"


async def asynchronous(job: Any) -> None:
    pass


def test_a_coroutine_function_is_no_handler_for_threads() -> None:
    with pytest.raises(UsageError, match="AsyncQueue"):
        Queue("jobs", "127.0.0.1:1").work(asynchronous)


def test_a_job_is_not_done_for_a_coroutine_that_nobody_awaits() -> None:
    job: Any = FakeJob()
    with pytest.raises(UsageError, match="which nobody awaits"):
        handle(job, asynchronous)
    assert job.ended == "given back for HandlerIsAsync"


def test_a_handler_that_meets_a_cancelled_task_fails_and_its_worker_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def cancelled(job: Any) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    job: Any = FakeJob()
    asyncio.run(AsyncQueue._handle(job, cancelled))
    assert job.ended == "given back for CancelledError"
    assert "the handler failed" in caplog.text


def test_a_worker_that_is_cancelled_ends() -> None:
    async def run() -> None:
        job: Any = FakeJob()
        working = asyncio.ensure_future(AsyncQueue._handle(job, lambda _: asyncio.sleep(60)))
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert job.ended == "given back for CancelledError"

    asyncio.run(run())


def test_a_plain_function_is_a_handler_for_asyncio_too() -> None:
    job: Any = FakeJob()
    asyncio.run(AsyncQueue._handle(job, lambda _: None))  # type: ignore[arg-type, return-value]
    assert job.ended == "done"
