"""Takes the steps of a plan on this machine, or below another root, and asks systemd about the service."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.service.plan import RemoveFile, RunCommand, Step, WriteFile
from tidelog.cli.service.unit import NAME

SYSTEMD_RUNS = "/run/systemd/system"
PROPERTIES = ("LoadState", "UnitFileState", "ActiveState", "SubState", "StatusText", "MainPID", "NRestarts")
# ProtectHome and PrivateTmp hide them from the service.
HIDDEN = ("/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/")


def check_systemd(root: str | None) -> None:
    if root is None and not os.path.isdir(SYSTEMD_RUNS):
        raise CliError(
            "systemd does not run this machine.",
            cause="it is a container, or has another service manager.",
            attempt="tidelog service install --dry-run, which shows the unit; or run `tidelog broker` under "
            "the service manager that is there",
        )


def check_may_install() -> None:
    if os.geteuid():
        raise CliError(
            "Only root can install a service.", attempt="sudo tidelog service install", code=Exit.DENIED
        )


def own_command() -> str:
    """The `tidelog` that runs; CliError where a service could not reach it."""
    beside_python = os.path.join(os.path.dirname(sys.executable), "tidelog")
    command = beside_python if os.path.exists(beside_python) else shutil.which("tidelog")
    if command is None:
        raise CliError("There is no command tidelog to start.", attempt="--command /path/of/tidelog")
    return os.path.abspath(command)


def check_reachable(command: str) -> None:
    for path in (command, os.path.realpath(command)):
        if path.startswith(HIDDEN):
            raise CliError(
                f"The service could not start {path}.",
                cause="home and temporary directories are hidden from it.",
                attempt="python3 -m venv /opt/tidelog && /opt/tidelog/bin/pip install tidelog, then "
                "/opt/tidelog/bin/tidelog service install",
            )


def carry_out(steps: Iterable[Step], root: str | None) -> None:
    for step in steps:
        match step:
            case WriteFile():
                _write(step, root)
            case RemoveFile(path):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(_below(root, path))
            case RunCommand():
                _run(step)


def properties() -> dict[str, str]:
    """What systemd knows of the service."""
    words = ("systemctl", "show", NAME, f"--property={','.join(PROPERTIES)}")
    lines = _run(RunCommand(words)).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _write(step: WriteFile, root: str | None) -> None:
    path = _below(root, step.path)
    if step.keep and os.path.exists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(step.text)
    os.chmod(path, 0o644)


def _below(root: str | None, path: str) -> str:
    return os.path.join(root, path.lstrip("/")) if root else path


def _run(step: RunCommand) -> str:
    try:
        done = subprocess.run(step.words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CliError(f"There is no {step.words[0]} on this machine.") from error
    if done.returncode and not step.may_fail:
        raise CliError(f"`{step}` failed: {done.stderr.strip()}")
    return done.stdout
