"""Results as JSON: the machine, the commit, the versions, and every value of every round."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benches.rig.report import machine
from benches.versus.runner import BARE, Measured

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "benchmarks" / "versus.json"


def as_json(measured: Measured, failed: dict[str, str], rounds: int, scale: float) -> dict[str, Any]:
    return {
        "machine": machine(),
        "commit": _commit(),
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "rounds": rounds,
        "scale": scale,
        "failed": failed,
        "workloads": [
            {
                "name": name,
                "figures": [
                    {
                        "name": each.figure.name,
                        "unit": each.figure.unit,
                        "more_is_better": each.figure.more_is_better,
                        "goal": each.figure.goal,
                        "goal_of_bare": each.figure.goal_of_bare,
                        "values": each.values,
                        "ratio": (ratio := each.ratio("Tidelog", "Apache Kafka")),
                        "met": each.is_met(ratio, each.figure.goal),
                        "ratio_to_bare": (share := each.ratio("Tidelog", BARE)),
                        "met_of_bare": each.is_met(share, each.figure.goal_of_bare),
                    }
                    for each in figures
                ],
            }
            for name, figures in measured.items()
        ],
    }


def write(results: dict[str, Any], file: Path = FILE) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n")


def _commit() -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
