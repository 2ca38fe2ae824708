"""Schemas are checked beside the loop, and a flood of them is refused in words that a client understands."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.broker.registry.workers import JOB_SECONDS, KNOWN_CHARS_MAX, KNOWN_JOBS, SchemaWorkers
from tidelog.registry.compatibility import Level
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.preparing import Earlier, Job, Source
from tidelog.registry.schema import SchemaType
from tidelog.server.disk_threads import DiskThreadsBusy

JOB = Job(Source(SchemaType.AVRO, '{"type":"string"}'))


def run_here(job: Callable[[], Any]) -> "asyncio.Future[Any]":
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    try:
        done.set_result(job())
    except Exception as error:
        done.set_exception(error)
    return done


def refuse(job: Callable[[], Any]) -> "asyncio.Future[Any]":
    raise DiskThreadsBusy("65 jobs wait")


def test_a_schema_is_prepared() -> None:
    prepared = asyncio.run(SchemaWorkers(run_here).prepare(JOB))
    assert prepared.text == '"string"'


def test_what_is_no_schema_is_the_registrys_own_error() -> None:
    broken = JOB._replace(source=Source(SchemaType.AVRO, '{"type":"nothing"}'))
    with pytest.raises(RegistryError) as refused:
        asyncio.run(SchemaWorkers(run_here).prepare(broken))
    assert refused.value.code is RegistryCode.INVALID_SCHEMA


def test_too_many_schemas_at_once_are_told_to_come_again() -> None:
    with pytest.raises(RegistryError) as refused:
        asyncio.run(SchemaWorkers(refuse).prepare(JOB))
    assert refused.value.code.status == 429
    assert "65 jobs wait" in refused.value.message


def test_what_was_prepared_a_moment_ago_is_known_without_a_thread() -> None:
    started: list[Callable[[], Any]] = []

    def count(job: Callable[[], Any]) -> "asyncio.Future[Any]":
        started.append(job)
        return run_here(job)

    async def twice(workers: SchemaWorkers, job: Job) -> None:
        assert await workers.prepare(job) == await workers.prepare(job)

    workers = SchemaWorkers(count)
    asyncio.run(twice(workers, JOB))
    assert len(started) == 1
    large = JOB._replace(source=Source(SchemaType.AVRO, '"string"' + " " * KNOWN_CHARS_MAX))
    asyncio.run(twice(workers, large))
    assert len(started) == 3, "large ones are not kept"
    for number in range(KNOWN_JOBS):
        fixed = f'{{"type":"fixed","name":"F","size":{number}}}'
        asyncio.run(workers.prepare(JOB._replace(source=Source(SchemaType.AVRO, fixed))))
    asyncio.run(twice(workers, JOB))
    assert len(started) == 3 + KNOWN_JOBS + 1, "what was not asked for longest is forgotten"


def test_a_job_ends_when_its_time_is_over_or_its_client_is_gone() -> None:
    began: list[Callable[[], Any]] = []
    now = [0.0]

    def hold(job: Callable[[], Any]) -> "asyncio.Future[Any]":
        began.append(job)
        return asyncio.get_running_loop().create_future()

    async def left(seconds: float) -> RegistryError:
        """Run a job with three versions on a thread, each of which takes a while."""
        version = Earlier(1, JOB.source)
        job = JOB._replace(level=Level.BACKWARD_TRANSITIVE, earlier=(version, version, version))

        def monotonic() -> float:
            now[0] += seconds
            return now[0]

        asked = asyncio.ensure_future(SchemaWorkers(hold, monotonic).prepare(job))
        await asyncio.sleep(0)
        if not seconds:
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
        with pytest.raises(RegistryError) as refused:
            began[-1]()
        asked.cancel()
        return refused.value

    assert "with 0 of 3" in asyncio.run(left(0.0)).message
    assert "with 2 of 3" in asyncio.run(left(0.6 * JOB_SECONDS)).message
