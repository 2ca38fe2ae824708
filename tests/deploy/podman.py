"""Builds the image with buildah and runs the brokers of the compose file with podman and runc, as root.

No image is pulled: the base is a Debian by debootstrap, with its Python 3.11, which podman keeps as BASE;
`podman rmi localhost/tidelog-test-base` has it made anew.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.deploy.docker_files import (
    BROKERS,
    ROOT,
    SPARK_DOCKERFILE,
    broker_environment,
    compose,
    image_environment,
)
from tests.deploy.wheelhouse import wheelhouse
from tests.interop.broker_process import free_port

BASE, IMAGE, SPARK_IMAGE = (f"localhost/tidelog-test{end}" for end in ("-base", "", "-spark"))
NETWORK = "tidelog-test"
SUBNET = "10.89.77"
FOR_DEBIAN = ("download", "--only-binary=:all:", "--implementation", "cp", "--python-version", "3.11")
PIP_CONF = "[global]\nno-index = true\nfind-links = /wheels\n"
# runc cannot raise limits beyond those that this machine may have.
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")


def podman(*arguments: str | Path, check: bool = True) -> str:
    done = subprocess.run(
        ["podman", "--runtime", "runc", *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert not check or done.returncode == 0, f"podman {arguments}: {done.stderr}"
    return done.stdout.strip()


def inspect(name: str, kind: str = "container") -> Any:
    return json.loads(podman("inspect", "--type", kind, name))[0]


def make_base() -> None:
    if BASE + ":latest" in podman("images", "--format", "{{.Repository}}:{{.Tag}}").split():
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        root = Path(directory) / "root"
        packages = "--include=python3,python3-venv,ca-certificates"
        subprocess.run(["debootstrap", "--variant=minbase", packages, "bookworm", root], check=True)
        archive = Path(directory) / "root.tar"
        subprocess.run(["tar", "-C", root, "--exclude=./var/cache/apt/*", "-cf", archive, "."], check=True)
        podman("import", archive, BASE)


def build(image: str, dockerfile: Path, argument: str, *extras: str) -> None:
    """With wheels from a directory and no network, but with the Dockerfile as it is."""
    if "spark" in extras:
        # PySpark is to be had as sources only, which pip builds for the Python that it runs on.
        assert sys.version_info[:2] == (3, 11), "the wheels must be those of Debian's Python 3.11"
        wheels = wheelhouse(*extras)
    else:
        wheels = wheelhouse(*extras, pip_command=FOR_DEBIAN)
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write(PIP_CONF)
        conf.flush()
        command = ["buildah", "bud", "--isolation", "chroot", "--format", "docker", "--layers"]
        command += ["--build-arg", argument, "--volume", f"{wheels}:/wheels:ro"]
        command += [
            "--volume",
            f"{conf.name}:/etc/pip.conf:ro",
            "-f",
            str(dockerfile),
            "-t",
            image,
            str(ROOT),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def build_images(*, spark: bool = False) -> None:
    make_base()
    build(IMAGE, ROOT / "Dockerfile", f"BASE={BASE}", "fast", "secure")
    if spark:
        build(SPARK_IMAGE, SPARK_DOCKERFILE, f"TIDELOG={IMAGE}", "fast", "secure", "spark")


class Cluster:
    """The three brokers of the compose file, with free ports of this machine in place of 9092 to 9094."""

    def __init__(self) -> None:
        self.ports = {service: free_port() for service in BROKERS}
        self.servers = ",".join(f"localhost:{port}" for port in self.ports.values())

    def __enter__(self) -> "Cluster":
        self._remove()
        podman("network", "create", "--subnet", f"{SUBNET}.0/24", NETWORK)
        for service in BROKERS:
            self._run(service)
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def _remove(self) -> None:
        for service in BROKERS:
            podman("rm", "--force", "--volumes", self.name(service), check=False)
        podman("network", "rm", "--force", NETWORK, check=False)

    def name(self, service: str) -> str:
        return f"tidelog-test-{service}"

    def _run(self, service: str) -> None:
        definition, options = compose()["services"][service], list[str]()
        for number, other in enumerate(BROKERS, 1):
            options += ["--add-host", f"{other}:{SUBNET}.{10 + number}"]
            options += ["--ip", f"{SUBNET}.{10 + number}"] if other == service else []
        own = broker_environment(service).items() - image_environment().items()
        for variable, value in own:
            published = definition["ports"][0].split(":")[1]
            text = value.replace(f"localhost:{published}", f"localhost:{self.ports[service]}")
            options += ["--env", f"{variable}={text}"]
        for directory in definition["tmpfs"]:
            options += ["--tmpfs", directory]
        options += [word for capability in definition["cap_drop"] for word in ("--cap-drop", capability)]
        options += [word for option in definition["security_opt"] for word in ("--security-opt", option)]
        options += ["--read-only"] if definition["read_only"] else []
        inside = definition["ports"][0].split(":")[2]
        options += ["--publish", f"127.0.0.1:{self.ports[service]}:{inside}", "--network", NETWORK]
        options += ["--hostname", definition["hostname"], "--name", self.name(service), *LIMITS]
        podman("run", "--detach", *options, IMAGE)
