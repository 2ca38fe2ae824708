"""One pod as a process: init containers, probes, the pre-stop hook, SIGTERM, the end."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from tests.interop.broker_process import console_script
from tests.kube.control_plane.api import Item, Refused
from tests.kube.control_plane.machine import Machine
from tests.kube.control_plane.pod_sandbox import PodSandbox


class RunningPod(threading.Thread):
    def __init__(self, machine: Machine, item: Item) -> None:
        super().__init__(name=item["metadata"]["name"], daemon=True)
        self._machine = machine
        self._uid = item["metadata"]["uid"]
        [self._container] = item["spec"]["containers"]
        self._init_containers = item["spec"].get("initContainers", ())
        directory = machine.directory / f"{self.name}-{self._uid[:8]}"
        self._sandbox = PodSandbox(machine, item, directory)
        self._leaving = threading.Event()
        self._is_killed = False
        self._grace_s = 0.0
        self.log_file = directory / "log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def hook(self) -> list[str]:
        command: list[str] = self._container["lifecycle"]["preStop"]["exec"]["command"]
        return command

    def leave(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._leaving.set()

    def kill(self) -> None:
        self._is_killed = True
        self._leaving.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def exec(self, *command: str, timeout_s: float = 120) -> "subprocess.CompletedProcess[str]":
        """As `kubectl exec`."""
        return self._run_in(self._container, list(command), timeout_s)

    def _run_in(
        self, container: Item, command: list[str], timeout_s: float
    ) -> "subprocess.CompletedProcess[str]":
        program = {"tidelog": console_script(), "python3": sys.executable}[command[0]]
        return subprocess.run(
            [program, *map(self._sandbox.here, command[1:])],
            env=self._sandbox.environment(container),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def run(self) -> None:
        self._sandbox.prepare()
        for container in self._init_containers:
            done = self._run_in(container, container["command"], timeout_s=60)
            self._machine.note(self.name, f"{container['name']} ended", f"{done.returncode} {done.stderr}")
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [console_script(), *self._container["args"]],
                env=self._sandbox.environment(self._container),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._machine.note(self.name, "started", self._container["image"])
        self._probe(self._process)
        if self._is_killed:
            return
        if self._leaving.is_set():
            self._end(self._process)
        else:
            self._machine.note(self.name, "crashed", str(self._process.returncode))

    def _probe(self, process: "subprocess.Popen[bytes]") -> None:
        """While the container runs: first whether it has started, then whether it is ready."""
        has_started = is_ready = False
        self._report(started=False, ready=False)
        while not self._leaving.is_set() and process.poll() is None:
            probe = self._container["readinessProbe" if has_started else "startupProbe"]
            passed = self._passes(probe)
            if not has_started:
                has_started = passed
            elif passed != is_ready:
                is_ready = passed
                self._machine.note(self.name, "ready" if is_ready else "not ready")
                self._report(started=True, ready=is_ready)
            self._leaving.wait(probe["periodSeconds"])

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        began = time.monotonic()
        self._machine.note(self.name, "pre-stop")
        try:
            done = self.exec(*self.hook, timeout_s=self._grace_s)
            self._machine.note(self.name, "may stop", f"{done.returncode} {done.stdout}{done.stderr}")
        except subprocess.TimeoutExpired:
            self._machine.note(self.name, "pre-stop timed out")
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        try:
            code = process.wait(max(2.0, self._grace_s - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        self._machine.note(self.name, "stopped", str(code))
        own = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._uid}}
        self._machine.api.delete(self._machine.path("pods", self.name), own)

    def _passes(self, probe: Item) -> bool:
        ports = {port["name"]: port["containerPort"] for port in self._container["ports"]}
        port, path = ports[probe["httpGet"]["port"]], probe["httpGet"]["path"]
        connection = http.client.HTTPConnection(self._sandbox.address, port, timeout=probe["timeoutSeconds"])
        try:
            connection.request("GET", path)
            return connection.getresponse().status < 400
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _report(self, *, started: bool, ready: bool) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        container: dict[str, Any] = {
            "name": self._container["name"],
            "image": self._container["image"],
            "imageID": self._container["image"],
            "ready": ready,
            "started": started,
            "restartCount": 0,
            "state": {"running": {"startedAt": now}},
        }
        status = {
            "phase": "Running",
            "podIP": self._sandbox.address,
            "podIPs": [{"ip": self._sandbox.address}],
            "startTime": now,
            "conditions": [
                {"type": kind, "status": str(ready), "lastTransitionTime": now}
                for kind in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [container],
        }
        # A pod that was replaced meanwhile has another uid, and the server refuses.
        with contextlib.suppress(Refused):
            path = self._machine.path("pods", f"{self.name}/status")
            self._machine.api.patch(path, {"metadata": {"uid": self._uid}, "status": status})
