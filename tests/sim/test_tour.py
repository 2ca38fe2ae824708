"""What docs/tour.md lets a reader run in the simulator: it runs, and shows what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    process = subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_failover_from_a_seed() -> None:
    output = run("examples/failover_from_a_seed.py", "5")
    story = [
        r"n(\d)\.1 [^\n]*leads in epoch 0, in sync \[\d, \d, \d\]",
        r"n\1\.1 is killed",
        r"leads in epoch 1, in sync \[\d, \d\]",
        r"n\1\.2 starts",
        r"leads in epoch 1, in sync \[\d, \d, \1\]",
        r"whole again",
        r"problems: none",
    ]
    assert re.search(".*".join(story), output, re.DOTALL), output
    assert run("examples/failover_from_a_seed.py", "5") == output


def test_a_broken_rule_is_noticed() -> None:
    page = (ROOT / "docs" / "tour.md").read_text()
    [script] = re.findall(r"<<'END'\n(.*?)\nEND\n", page, re.DOTALL)
    assert "was acknowledged up to" in run("-c", script)
