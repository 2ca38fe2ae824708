"""Runs the `tidelog` command with a watch on its event loop: which turns took long, and where they spent it.

    python -m benches.rig.turn_watch REPORT.json up --data …

A turn is what happens between two looks at the sockets: CPU time of the loop's thread, and time on the wall,
which counts waiting for the disk, but on a busy machine also waiting for a core. SIGUSR1 forgets what was
seen so far, SIGUSR2 writes the report.
"""

import asyncio
import collections
import gc
import json
import selectors
import signal
import sys
import threading
import time
from types import FrameType

SLOW_SECONDS = 0.01
SAMPLE_SECONDS = 0.002
STACK_MAX = 14


class TurnWatch:
    def __init__(self, report: str) -> None:
        self._report = report
        self._thread = threading.get_ident()
        self._began: tuple[float, float] | None = None
        self._turn = 0
        self.clear()

    def clear(self) -> None:
        self.turns: list[tuple[float, float, int]] = []
        self.count = 0
        self.stacks: dict[int, collections.Counter[str]] = {}
        self.collections_ms: list[tuple[float, int]] = []

    def collected(self, phase: str, info: dict[str, int]) -> None:
        """Garbage collection is a part of whichever turn it falls into."""
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self.collections_ms.append(
                (round((time.thread_time() - self._collecting) * 1000, 1), info["generation"])
            )

    def woke(self) -> None:
        if threading.get_ident() == self._thread:
            self._turn += 1
            self._began = time.thread_time(), time.monotonic()

    def sleeps(self) -> None:
        if self._began is None or threading.get_ident() != self._thread:
            return
        cpu, wall = time.thread_time() - self._began[0], time.monotonic() - self._began[1]
        self._began = None
        self.count += 1
        if cpu > SLOW_SECONDS or wall > 2 * SLOW_SECONDS:
            self.turns.append((cpu, wall, self._turn))
        else:
            self.stacks.pop(self._turn, None)

    def sample(self) -> None:
        while True:
            time.sleep(SAMPLE_SECONDS)
            began = self._began
            if began is None or time.monotonic() - began[1] < SLOW_SECONDS:
                continue
            frame = sys._current_frames().get(self._thread)
            self.stacks.setdefault(self._turn, collections.Counter())[_stack(frame)] += 1

    def write(self) -> None:
        worst = sorted(self.turns, reverse=True)[:8]
        told = {
            "turns": self.count,
            "slow": len(self.turns),
            "cpu_ms": [round(cpu * 1000, 1) for cpu, _, _ in worst],
            "wall_ms": [round(wall * 1000, 1) for _, wall, _ in sorted(self.turns, key=lambda t: -t[1])[:8]],
            "gc_ms": sorted(self.collections_ms, reverse=True)[:5],
            "where": [
                {"cpu_ms": round(cpu * 1000, 1), "wall_ms": round(wall * 1000, 1),
                 "stacks": self.stacks.get(turn, collections.Counter()).most_common(4)}
                for cpu, wall, turn in worst
            ],
        }  # fmt: skip
        with open(self._report, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)


def _stack(frame: FrameType | None) -> str:
    names = []
    while frame is not None and len(names) < STACK_MAX:
        code = frame.f_code
        if "tidelog" in code.co_filename:
            names.append(f"{code.co_filename.rpartition('tidelog/')[2]}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return " < ".join(names[:6])


def install(report: str) -> None:
    watch = TurnWatch(report)

    class WatchedSelector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            watch.sleeps()
            try:
                return super().select(timeout)
            finally:
                watch.woke()

    asyncio.new_event_loop = lambda: asyncio.SelectorEventLoop(WatchedSelector())  # type: ignore[assignment]
    threading.Thread(target=watch.sample, daemon=True).start()
    gc.callbacks.append(watch.collected)
    signal.signal(signal.SIGUSR1, lambda *_: watch.clear())
    signal.signal(signal.SIGUSR2, lambda *_: watch.write())


if __name__ == "__main__":
    install(sys.argv[1])
    sys.argv[1:] = ["tidelog", *sys.argv[2:]][1:]
    from tidelog.cli.main import main

    main()
