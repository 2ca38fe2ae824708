"""How long until a broker answers, and what it holds when idle.

`tidelog up` from process start to the answer to ApiVersions; the in-process broker from `Broker()` to ready.
The best of several runs: the rest is what else the machine was doing.
"""

import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tidelog.testing import Broker

RUNS = 7
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve_once(folder: str) -> tuple[float, float]:
    """(seconds until ApiVersions was answered, resident MiB a second later)."""
    command = [str(Path(sys.executable).parent / "tidelog"), "up", "--data", folder]
    port = free_port()
    began = time.perf_counter()
    process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                if process.poll() is not None:
                    raise SystemExit("tidelog up did not start") from None
                time.sleep(0.001)
        with connection:
            connection.sendall(API_VERSIONS)
            connection.recv(4)
            seconds = time.perf_counter() - began
        time.sleep(1)
        return seconds, psutil.Process(process.pid).memory_info().rss / 2**20
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def in_process_once() -> float:
    began = time.perf_counter()
    with Broker():
        return time.perf_counter() - began


def main() -> None:
    served = []
    for _ in range(RUNS):
        folder = tempfile.mkdtemp(prefix="tidelog-bench-")
        served.append(serve_once(folder))
        shutil.rmtree(folder)
    first = in_process_once()
    again = [in_process_once() for _ in range(RUNS)]
    answered = min(seconds for seconds, _ in served)
    print(f"tidelog up to ApiVersions  {answered * 1000:6.0f} ms  (wanted: under 500)")
    print(f"idle broker                {min(size for _, size in served):6.1f} MiB (wanted: under 60 MB)")
    print(f"in-process, first in a run {first * 1000:6.0f} ms  (with imports)")
    print(f"in-process, after that     {min(again) * 1000:6.1f} ms  (wanted: under 100)")


if __name__ == "__main__":
    main()
