"""How long a broker takes to be there, and what it holds while nothing happens.

    python -m benches.start_up [--rounds N]

Bytecode caches are warm, as they are from the second start of an installed program on.
"""

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

from benches.rig.broker_process import BrokerProcess, environment, tidelog
from benches.rig.frames import api_versions_frame
from benches.rig.report import machine, show

IN_PROCESS = """
import time
import tidelog.node.node
from tidelog.testing import Broker
began = time.perf_counter()
with Broker():
    print(time.perf_counter() - began)
"""


def seconds_to_first_answer(settings: Mapping[str, str] | None = None) -> float:
    """From the start of the process to a whole answer to ApiVersions, asked as soon as the port listens."""
    request = api_versions_frame()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as data:
        flags = [f"--set={name}={value}" for name, value in {"durability": "os", **(settings or {})}.items()]
        command = [*tidelog(), "up", "--data", data, "--port", str(port), *flags]
        began = time.perf_counter()
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
        try:
            while True:
                try:
                    with socket.create_connection(("localhost", port)) as sock:
                        sock.sendall(request)
                        sock.recv(4, socket.MSG_WAITALL)
                        return time.perf_counter() - began
                except ConnectionRefusedError:
                    time.sleep(0.001)
        finally:
            process.terminate()
            process.wait()


def seconds_in_process() -> float:
    shown = subprocess.run(
        [sys.executable, "-c", IN_PROCESS], env=environment(), capture_output=True, check=True, text=True
    )
    return float(shown.stdout)


def idle_megabytes() -> float:
    with BrokerProcess() as broker:
        time.sleep(1.5)  # past its first ticks
        return broker.rss_bytes() / 1e6


def cpu_share_when_idle() -> float:
    with BrokerProcess() as broker:
        time.sleep(1)
        before = broker.cpu_seconds()
        time.sleep(5)
        return (broker.cpu_seconds() - before) / 5 * 100


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print(machine())
    show(
        "tidelog up: process start to ApiVersions",
        min(seconds_to_first_answer() for _ in range(rounds)),
        "s",
        at_most=0.5,
    )
    show(
        "in-process broker: start", min(seconds_in_process() for _ in range(rounds)) * 1000, "ms", at_most=100
    )
    show("idle broker: memory (RSS)", idle_megabytes(), "MB", at_most=60)
    show("idle broker: CPU", cpu_share_when_idle(), "%")


if __name__ == "__main__":
    main()
