"""Fetches of cached data as prebuilt frames, beside a loop of bare `sendfile`: what zero copy is worth."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cache, partial

from benches.rig.bare import send_file, serving
from benches.rig.broker_process import work_folder
from benches.rig.frames import batch_of, fetch_frame, produce_frame, records_in
from benches.rig.load import MIB, Load, answer_size, in_own_process, read_answers, replay
from benches.versus.figures import Figure
from benches.versus.systems import System
from benches.versus.workload import Arena, Workload

BATCH = 16 * 1024
FETCH = MIB
IN_FLIGHT = 3


def workloads(scale: float) -> Iterator[Workload]:
    figures = (Figure("rate", "MB/s", True, 1.0, 0.6), Figure("broker CPU", "s/GB", False))
    fetches = max(32, int(256 * scale))
    yield Workload(
        "fetch 1 MiB at a time, cached",
        Arena(),
        figures,
        partial(fetch, fetches=fetches),
        partial(bare_fetch, fetches=fetches),
    )


def fetch(system: System, *, fetches: int) -> Mapping[str, float]:
    topic, batch = system.new_topic(), batch_of(BATCH)
    request = produce_frame(topic, batch)
    answer = answer_size(system.address, request)
    per_fetch = FETCH // BATCH
    replay(system.address, Load(request, fetches * per_fetch, answer, 1, 5))
    asks = [fetch_frame(topic, n * per_fetch * records_in(batch), FETCH) for n in range(fetches)]
    sizes = [answer_size(system.address, ask) for ask in asks]
    before = system.cpu_seconds()
    seconds = in_own_process(read_answers, system.address, asks, sizes, IN_FLIGHT, True)
    cpu = system.cpu_seconds() - before
    system.delete_topic(topic)
    return {"rate": sum(sizes) / seconds / 1e6, "broker CPU": cpu / (sum(sizes) / 1e9)}


def bare_fetch(*, fetches: int) -> Mapping[str, float]:
    ask = fetch_frame("bench", 0, FETCH)
    ranges = [(n * FETCH, FETCH) for n in range(fetches)]
    with serving(send_file(_file(fetches * FETCH), ranges, len(ask))) as address:
        seconds = in_own_process(read_answers, address, [ask] * fetches, [FETCH] * fetches, IN_FLIGHT, True)
    return {"rate": fetches * FETCH / seconds / 1e6}


@cache
def _file(size: int) -> str:
    """Of that size, and gone when this process ends."""
    file = tempfile.NamedTemporaryFile(dir=work_folder())  # noqa: SIM115
    _kept.append(file)
    for _ in range(size // MIB):
        file.write(bytes(MIB))
    file.flush()
    return file.name


_kept: list[object] = []
