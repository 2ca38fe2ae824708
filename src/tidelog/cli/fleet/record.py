"""What a cluster of `tidelog up` remembers in its directory: its id, its voters, its ports and its cores.

Brokers know each other by these addresses, so a later start must come back with the same ones.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from tidelog.base.full_sync import sync_fd
from tidelog.cli.exits import CliError

FILE = "cluster.json"


@dataclass(frozen=True, slots=True)
class Recorded:
    cluster_id: str
    ports: list[int]
    """By node id, from 1 on."""
    voters: list[int]
    cores: int = 1
    """Of each broker."""


def recorded_fleet(directory: str) -> Recorded | None:
    path = Path(directory) / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        recorded = Recorded(
            str(found["cluster_id"]),
            list(found["ports"]),
            list(found["voters"]),
            int(found.get("cores", 1)),  # an earlier release knew none
        )
        known = set(range(1, len(recorded.ports) + 1))
        if recorded.cores < 1 or not known or not set(recorded.voters) <= known:
            raise ValueError("its ports, voters and cores do not fit together")
        return recorded
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CliError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CliError(
            f"{path} cannot be understood: {error}.",
            cause="it was changed by hand, or by another version.",
            attempt="put it back, or use another directory with --data",
        ) from error


def write_record(directory: str, recorded: Recorded) -> None:
    path = os.path.join(directory, FILE)
    try:
        os.makedirs(directory, exist_ok=True)
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump(asdict(recorded), file)
            file.flush()
            sync_fd(file.fileno())
        os.replace(path + ".tmp", path)
    except OSError as error:
        raise CliError(
            f"Cannot write {path}: {error.strerror}.",
            cause="it cannot be written, or is no directory.",
            attempt="tidelog up --brokers N --data DIR",
        ) from error
