"""Tests of Ctrl-C hold where the caller ignores SIGINT, as under nohup: their children do not."""

import shlex
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
SUITE = """
import subprocess, sys

def test_child():
    asks = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    told = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert told.stdout == "False\\n"
"""


def test_a_child_can_be_interrupted_where_the_caller_cannot(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_children.py").write_text(SUITE)
    pytest = f"exec {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    command = ["sh", "-c", f"trap '' INT; {pytest}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout
