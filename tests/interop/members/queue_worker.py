"""Works on a queue until SIGTERM: queue_worker.py BROKERS TOPIC GROUP. It prints what it does."""

import os
import sys
import time

from tidelog import Job, Queue


def handle(job: Job[bytes, bytes]) -> None:
    value = (job.value or b"").decode()
    say(f"begin {value}")
    time.sleep(1.0)
    say(f"end {value}")


def say(line: str) -> None:
    """In one piece, whichever thread says it."""
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    brokers, topic, group = sys.argv[1:]
    with Queue(topic, brokers, group_id=group, prefetch=4) as jobs:
        jobs.work(handle, workers=2)
