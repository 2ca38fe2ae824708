"""How results are printed: the machine first, then one line for each figure, with what was promised."""

import os
import platform
from pathlib import Path


def machine() -> str:
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor() or platform.machine(),
    )
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"{os.cpu_count()} x {model}, {pages / 2**30:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )


def show(
    what: str, value: float, unit: str, *, at_most: float | None = None, at_least: float | None = None
) -> None:
    """One figure; where a limit was promised, whether it was met."""
    promised = ""
    if at_most is not None:
        promised = f"{'met' if value <= at_most else 'MISSED'}: at most {at_most:g}"
    if at_least is not None:
        promised = f"{'met' if value >= at_least else 'MISSED'}: at least {at_least:g}"
    print(f"{what:62} {value:10.2f} {unit:10} {promised}", flush=True)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
