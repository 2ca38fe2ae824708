"""A broker that a supervisor started says that its event loop turns: a line of JSON every few seconds.

As systemd's watchdog hears it of the process that it started itself; the supervisor hears it of each core.
"""

import asyncio
import contextlib
import json

BEAT_S = 10.0
BEAT = json.dumps({"event": "beat"})


async def beat() -> None:
    while True:
        with contextlib.suppress(BrokenPipeError):  # the supervisor is gone, and this broker stops by itself
            print(BEAT, flush=True)
        await asyncio.sleep(BEAT_S)
