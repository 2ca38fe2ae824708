"""On SIGUSR2 a broker writes into its log what each of its tasks waits for: to look into one that hangs."""

import asyncio
import signal
import sys


def install() -> None:
    """In the broker's process, before it starts."""
    signal.signal(signal.SIGUSR2, lambda *_: _dump())


def _dump() -> None:
    for task in list(asyncio.tasks._all_tasks):
        if not task.done():
            print(f"\n-- task {task.get_name()}", file=sys.stderr)
            task.print_stack(file=sys.stderr)
    sys.stderr.flush()
