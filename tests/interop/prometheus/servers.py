"""Prometheus and Alertmanager as processes, with a pace for tests, and the receiver of their messages."""

import contextlib
import json
import shutil
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chaos.peer_links import HOST, free_ports
from tests.chaos.victim import wait_until
from tests.rigs.repository import ROOT
from tidelog.monitoring.rules import rules

PATIENCE_S = 60.0
DEPLOY = ROOT / "deploy" / "prometheus"


def needed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: apt-get install {program}")
    return found


class ServerProcess:
    """A server that is ready when its /-/ready says so."""

    def __init__(self, directory: Path, command: Sequence[str], port: int) -> None:
        self.url = f"http://{HOST}:{port}"
        self._log = directory / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory)

    def until_ready(self) -> None:
        wait_until(self._is_ready, lambda: f"{self.url} is ready:\n{self._log.read_text()}", PATIENCE_S)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def get(self, path: str, **query: str) -> Any:
        url = f"{self.url}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()


class Prometheus(ServerProcess):
    """As deploy/prometheus/prometheus.yml says, every second, with rules that fire after two."""

    def __init__(self, directory: Path, jobs: Mapping[str, Sequence[int]], alertmanager_port: int) -> None:
        config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        static = [{"targets": [f"{HOST}:{alertmanager_port}"]}]
        config["alerting"] = {"alertmanagers": [{"static_configs": static}]}
        config["scrape_configs"] = [
            {"job_name": job, "static_configs": [{"targets": [f"{HOST}:{port}" for port in ports]}]}
            for job, ports in jobs.items()
        ]
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        (directory / "tidelog-alerts.yml").write_text(yaml.safe_dump(_soon(rules())))
        [port] = free_ports(1)
        command = [
            needed("prometheus"),
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address={HOST}:{port}",
        ]
        super().__init__(directory, command, port)

    def query(self, expression: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = self.get("/api/v1/query", query=expression)["data"]["result"]
        return result

    def firing(self) -> list[dict[str, Any]]:
        alerts = self.get("/api/v1/alerts")["data"]["alerts"]
        return [alert for alert in alerts if alert["state"] == "firing"]

    def targets(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/api/v1/targets")["data"]["activeTargets"]
        return found


def _soon(rules: dict[str, Any]) -> dict[str, Any]:
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = "2s"
    return rules


class Alertmanager(ServerProcess):
    """As deploy/prometheus/alertmanager.yml says, without its patience; it calls the test."""

    def __init__(self, directory: Path, port: int, receiver_url: str) -> None:
        config = yaml.safe_load((DEPLOY / "alertmanager.yml").read_text())
        config["route"] |= {"group_wait": "1s", "group_interval": "1s"}
        config["receivers"][0]["webhook_configs"][0]["url"] = receiver_url
        (directory / "alertmanager.yml").write_text(yaml.safe_dump(config))
        command = [
            needed("prometheus-alertmanager"),
            "--config.file=alertmanager.yml",
            "--storage.path=data",
            "--cluster.listen-address=",
            f"--web.listen-address={HOST}:{port}",
        ]
        super().__init__(directory, command, port)

    def is_suppressed(self, alert: str) -> bool:
        """Whether a rule of inhibition keeps it from people."""
        alerts = self.get("/api/v2/alerts", filter=f'alertname="{alert}"')
        return any(each["status"]["state"] == "suppressed" for each in alerts)


class Receiver:
    """A webhook: what a person would be told."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, Any]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.alerts += body["alerts"]
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                """Every message on the terminal would be too much."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self.url = f"http://{HOST}:{self._server.server_address[1]}/alerts"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def of(self, labels: Mapping[str, str], status: str) -> list[dict[str, Any]]:
        return [
            each
            for each in list(self.alerts)
            if labels.items() <= each["labels"].items() and each["status"] == status
        ]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def directories(parent: Path) -> Callable[[str], Path]:
    def make(name: str) -> Path:
        path = parent / name
        path.mkdir()
        return path

    return make


@contextlib.contextmanager
def running(
    parent: Path, jobs: Mapping[str, Sequence[int]]
) -> Iterator[tuple[Prometheus, Alertmanager, Receiver]]:
    make = directories(parent)
    with contextlib.ExitStack() as stack:
        receiver = Receiver()
        stack.callback(receiver.close)
        [port] = free_ports(1)
        alertmanager = Alertmanager(make("alertmanager"), port, receiver.url)
        stack.callback(alertmanager.stop)
        prometheus = Prometheus(make("prometheus"), jobs, port)
        stack.callback(prometheus.stop)
        alertmanager.until_ready()
        prometheus.until_ready()
        yield prometheus, alertmanager, receiver
