"""What `tidelog service install` and `uninstall` do, as steps that can be shown before they are taken."""

import os
from typing import NamedTuple

from tidelog.cli.service.unit import NAME, STATE_DIR, UNIT_PATH, Service, unit_text

USERS_PATH = "/etc/sysusers.d/tidelog.conf"

STARTER = f"""\
# The settings of this broker. `tidelog config explain NAME` says what each of them is for.
log.dirs: {STATE_DIR}

# A member of a cluster has an id, an address that others reach, and the same list of voters on every machine:
# node.id: 1
# listeners: PLAINTEXT://host-1:9092
# controller.quorum.voters: [1@host-1:9092, 2@host-2:9092, 3@host-3:9092]
# default.replication.factor: 3
# min.insync.replicas: 2

# A process for each core of the machine: core k listens k ports higher.
# broker.cores: auto

# Metrics for Prometheus, and /healthz and /readyz:
# metrics.port: 9404

# The schema registry, for clients of Confluent's, on every broker of the cluster:
# schema.registry.port: 8081
# schema.registry.host: 0.0.0.0
"""


class WriteFile(NamedTuple):
    path: str
    text: str
    keep: bool = False
    """An existing file stays as it is."""

    def __str__(self) -> str:
        return f"write {self.path}" + (", unless it is there" if self.keep else "")


class RemoveFile(NamedTuple):
    path: str

    def __str__(self) -> str:
        return f"remove {self.path}"


class RunCommand(NamedTuple):
    words: tuple[str, ...]
    may_fail: bool = False

    def __str__(self) -> str:
        return " ".join(self.words)


Step = WriteFile | RemoveFile | RunCommand


def plan_install(service: Service, root: str | None, enable: bool) -> list[Step]:
    """With a root, the files go below it, and nothing is said to the systemd of this machine."""
    user = f'u {service.user} - "Tidelog broker" {STATE_DIR}\n'
    steps: list[Step] = [
        WriteFile(USERS_PATH, user),
        RunCommand(("systemd-sysusers", *_root(root), os.path.basename(USERS_PATH))),
        WriteFile(service.config, STARTER, keep=True),
        WriteFile(UNIT_PATH, unit_text(service)),
    ]
    steps += [] if root else [RunCommand(("systemctl", "daemon-reload"))]
    steps += [RunCommand(("systemctl", *_root(root), "enable", NAME))] if enable else []
    return steps


def plan_uninstall(root: str | None) -> list[Step]:
    """Data, settings and the user stay."""
    now = () if root else ("--now",)
    steps: list[Step] = [
        RunCommand(("systemctl", *_root(root), "disable", *now, NAME), may_fail=True),
        RemoveFile(UNIT_PATH),
        RemoveFile(USERS_PATH),
    ]
    return steps if root else [*steps, RunCommand(("systemctl", "daemon-reload"))]


def _root(root: str | None) -> tuple[str, ...]:
    return (f"--root={root}",) if root else ()
