import asyncio
import threading

import pytest

from tidelog.server.disk_threads import DiskThreads, DiskThreadsBusy


def test_jobs_run_on_named_threads_and_answer() -> None:
    async def main() -> None:
        disk = DiskThreads("clean", threads=2)
        assert (await disk.run(lambda: threading.current_thread().name)).startswith("tidelog-clean")
        with pytest.raises(OSError, match="full"):
            await disk.run(fail)
        await disk.close()

    def fail() -> None:
        raise OSError(28, "disk full")

    asyncio.run(main())


def test_the_line_of_jobs_is_bounded() -> None:
    async def main() -> None:
        gate = threading.Event()
        disk = DiskThreads(threads=1, waiting_max=2)
        jobs = [disk.run(gate.wait) for _ in range(3)]
        with pytest.raises(DiskThreadsBusy):
            disk.run(gate.wait)
        assert disk.jobs == 3
        gate.set()
        await asyncio.gather(*jobs)
        await disk.close()

    asyncio.run(main())


def test_close_finishes_what_was_asked_and_takes_no_more() -> None:
    async def main() -> None:
        done: list[int] = []
        gate = threading.Event()
        disk = DiskThreads(threads=1)
        disk.run(gate.wait)
        for number in range(5):
            disk.run(lambda number=number: done.append(number))  # type: ignore[misc]
        closing = asyncio.ensure_future(disk.close())
        await asyncio.sleep(0)
        gate.set()
        await closing
        assert done == [0, 1, 2, 3, 4]
        with pytest.raises(RuntimeError):
            disk.run(gate.wait)

    asyncio.run(main())
