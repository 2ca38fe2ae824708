"""What the Dockerfile and the compose file say, for tests that run the same without a Docker engine."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "Dockerfile"
SPARK_DOCKERFILE = ROOT / "docker" / "spark.Dockerfile"
COMPOSE = ROOT / "docker" / "compose.yaml"
BROKERS = ("broker-1", "broker-2", "broker-3")


class Instruction(NamedTuple):
    name: str
    rest: str


def instructions(path: Path = DOCKERFILE) -> list[Instruction]:
    joined = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", path.read_text()))
    lines = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [Instruction(name, rest.strip()) for name, rest in lines]


def last_stage(path: Path = DOCKERFILE) -> list[Instruction]:
    every = instructions(path)
    start = max(number for number, one in enumerate(every) if one.name == "FROM")
    return every[start:]


def only(name: str, path: Path = DOCKERFILE) -> str:
    [found] = [one.rest for one in last_stage(path) if one.name == name]
    return found


def copied() -> list[tuple[list[str], str]]:
    """What goes from this repository into the build, as sources and destination."""
    words = [one.rest.split() for one in instructions() if one.name == "COPY" and "--from" not in one.rest]
    return [(sources, destination) for *sources, destination in words]


def image_environment() -> dict[str, str]:
    """The settings that the image brings; its PATH is another matter."""
    pairs = [word.partition("=") for word in shlex.split(only("ENV"))]
    return {name: value for name, _, value in pairs if name.startswith("TIDELOG_")}


def image_command() -> list[str]:
    command: list[str] = [*json.loads(only("ENTRYPOINT")), *json.loads(only("CMD"))]
    return command


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def broker_environment(service: str) -> dict[str, str]:
    """As a container of the compose file has it: over the image's, and `$$` is `$`."""
    given = compose()["services"][service]["environment"]
    return image_environment() | {name: str(value).replace("$$", "$") for name, value in given.items()}
