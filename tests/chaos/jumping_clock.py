"""A wall clock that a test moves while the broker runs: milliseconds to add, in a file that both have open.

Only what the broker takes for the date and time jumps; the clock by which it waits goes on, as it does on a
machine whose time is set.
"""

import mmap
import struct
from pathlib import Path

OFFSET_MS = struct.Struct("<q")


def install(path: str) -> None:
    """In the broker's process, before it starts."""
    from tidelog.server.clock import SystemClock

    with open(path, "r+b") as file:
        shared = mmap.mmap(file.fileno(), OFFSET_MS.size)
    real_now_ms = SystemClock.now_ms
    SystemClock.now_ms = lambda self: real_now_ms(self) + OFFSET_MS.unpack_from(shared)[0]


def set_clock(path: Path, ahead_ms: int) -> None:
    if not path.exists():
        path.write_bytes(OFFSET_MS.pack(ahead_ms))
        return
    with path.open("r+b") as file:
        file.write(OFFSET_MS.pack(ahead_ms))
