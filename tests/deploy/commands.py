"""Runs an installed `tidelog`, whatever way it was installed, and a broker of it."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 60.0


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=bare(environment)
    )


def bare(more: Mapping[str, str]) -> dict[str, str]:
    """An environment in which nothing of the development's own Python can be found."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", **more}


@contextmanager
def broker(command: Sequence[str | Path], directory: Path, **environment: str) -> Iterator[str]:
    """`tidelog up` on a free port until the end of the block, where SIGTERM must end it cleanly."""
    ready, log = directory / "ready.json", directory / "broker.log"
    options = ["up", "--port", "0", "--data", directory / "data", "--ready-file", ready]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *options], stdout=out, stderr=subprocess.STDOUT, env=bare(environment)
        )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not ready.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.02)
        yield json.loads(ready.read_text())["bootstrap_servers"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0, log.read_text()
        assert "Stopped cleanly" in log.read_text()
    finally:
        process.kill()
        process.wait()


def passes_a_record_on(command: Sequence[str | Path], servers: str, **environment: str) -> None:
    """A record goes in and comes out through the command line."""
    made = run([*command, "-b", servers, "topic", "create", "t"], **environment)
    assert made.returncode == 0, made.stderr
    wrote = run([*command, "-b", servers, "produce", "t", "kept"], **environment)
    assert wrote.returncode == 0, wrote.stderr
    read = run([*command, "-b", servers, "consume", "t"], **environment)
    assert read.stdout == "kept\n", read.stderr
