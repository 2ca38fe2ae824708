"""The image's entry point with the environment of the compose file, as processes of this machine.

Containers have host names and ports of their own; here brokers share them, so ports are free ones and every
host is localhost. `make image-test` runs the image itself.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.docker_files import BROKERS, ROOT, broker_environment, image_command
from tests.interop.broker_process import console_script, free_port

PATIENCE_S = 60.0
HEALTHCHECK = [sys.executable, "-I", "-S", str(ROOT / "docker" / "healthcheck.py")]


class Container:
    def __init__(self, service: str, ports: dict[str, int], directory: Path) -> None:
        self.log_file = directory / f"{service}.log"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(directory)}
        number = service.rpartition("-")[2]
        for name, value in broker_environment(service).items():
            text = value.replace("${host:ordinal}", number).replace("${host:name}", service)
            for place, port in ports.items():
                text = text.replace(place, f"localhost:{port}")
            text = text.replace(
                "HOST://0.0.0.0:9092", f"HOST://localhost:{ports[f'localhost:909{1 + int(number)}']}"
            )
            text = text.replace("BROKERS://0.0.0.0:19092", f"BROKERS://localhost:{ports[f'{service}:19092']}")
            self.environment[name] = text
        self.environment["TIDELOG_LOG_DIRS"] = str(directory / service)
        self.environment["TIDELOG_METRICS_PORT"] = str(ports[f"{service}:9404"])
        self.environment["TIDELOG_SCHEMA_REGISTRY_PORT"] = "-1"
        entry, *arguments = image_command()
        assert entry == "tidelog"
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [console_script(), *arguments], env=self.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def healthy(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            HEALTHCHECK, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    def wait_until_healthy(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while self.healthy().returncode:
            assert self.process.poll() is None, self.log_file.read_text()
            assert time.monotonic() < deadline, self.log_file.read_text()
            time.sleep(0.1)


@pytest.fixture
def containers(tmp_path: Path) -> Iterator[list[Container]]:
    places = [f"{service}:{port}" for service in BROKERS for port in (19092, 9404)]
    ports = {place: free_port() for place in [*places, "localhost:9092", "localhost:9093", "localhost:9094"]}
    running = [Container(service, ports, tmp_path) for service in BROKERS]
    yield running
    for container in running:
        container.process.kill()
        container.process.wait()


def test_three_brokers_form_a_cluster_are_healthy_and_stop_on_sigterm(containers: list[Container]) -> None:
    for container in containers:
        container.wait_until_healthy()
    advertised = [one.environment["TIDELOG_ADVERTISED_LISTENERS"].split(",")[0] for one in containers]
    servers = ",".join(text.removeprefix("HOST://") for text in advertised)

    def tidelog(*arguments: str) -> str:
        command = [console_script(), "-b", servers, *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": containers[0].environment["HOME"]}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    tidelog("cluster", "status", "--wait", "60")
    tidelog("topic", "create", "t")
    tidelog("produce", "t", "kept")
    assert tidelog("consume", "t") == "kept\n"
    for container in containers:
        container.process.send_signal(signal.SIGTERM)
    assert [container.process.wait(PATIENCE_S) for container in containers] == [0, 0, 0]


def test_the_health_check_says_what_is_wrong(tmp_path: Path) -> None:
    port = free_port()
    done = subprocess.run(
        HEALTHCHECK, env={"TIDELOG_METRICS_PORT": str(port)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"no answer at port {port}" in done.stderr
    off = subprocess.run(HEALTHCHECK, env={}, capture_output=True, text=True, check=False)
    assert (off.returncode, off.stderr) == (1, "TIDELOG_METRICS_PORT is not set\n")
