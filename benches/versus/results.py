"""Results as JSON: the machine, the commit, the versions, and every value of every round."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benches.rig.report import machine
from benches.versus.figures import Rounds
from benches.versus.runner import BARE, Measured

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "benchmarks" / "versus.json"


def as_json(measured: Measured, failed: dict[str, str], rounds: int, scale: float) -> dict[str, Any]:
    return {
        "machine": machine(),
        "commit": commit(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "rounds": rounds,
        "scale": scale,
        "failed": failed,
        "workloads": [row(name, figures) for name, figures in measured.items()],
    }


def row(
    name: str, figures: list[Rounds], ours: str = "Tidelog", theirs: str = "Apache Kafka"
) -> dict[str, Any]:
    return {
        "name": name,
        "figures": [
            {
                "name": each.figure.name,
                "unit": each.figure.unit,
                "more_is_better": each.figure.more_is_better,
                "goal": each.figure.goal,
                "goal_of_bare": each.figure.goal_of_bare,
                "values": each.values,
                "ratio": (ratio := each.ratio(ours, theirs)),
                "met": each.is_met(ratio, each.figure.goal),
                "ratio_to_bare": (share := each.ratio(ours, BARE)),
                "met_of_bare": each.is_met(share, each.figure.goal_of_bare),
            }
            for each in figures
        ],
    }


RUN = ("machine", "commit", "when", "rounds")
"""What a row that was measured again has of its own."""


def merged(known: dict[str, Any], again: dict[str, Any], titles: list[str]) -> dict[str, Any]:
    """`known` with the workloads of `again` in it, in the order of `titles`; other rows are gone."""
    run = {name: again[name] for name in RUN}
    rows = {row["name"]: row for row in known["workloads"]}
    rows |= {row["name"]: row | {"run": run} for row in again["workloads"]}
    failed = {what: why for what, why in known["failed"].items() if not _is_measured(what, again)}
    return known | {
        "workloads": [rows[title] for title in titles if title in rows],
        "failed": failed | again["failed"],
    }


def _is_measured(failed: str, again: dict[str, Any]) -> bool:
    """Whether what failed, a workload or the start of an arena's brokers, ran in `again`."""
    what, _, _ = failed.rpartition(": ")
    return any(row["name"] == what or row["name"].endswith(f"({what})") for row in again["workloads"])


def read(file: Path = FILE) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(file.read_text())
    return known


def write(results: dict[str, Any], file: Path = FILE) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n")


def commit() -> str:
    """With `-dirty` where code differs from it; pages do not count, since a run writes them."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "benches")
    return _git("describe", "--always") + ("-dirty" if changed else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()
