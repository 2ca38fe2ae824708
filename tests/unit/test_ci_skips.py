"""Under CI=true a skip is a failure, whichever way a test skips; elsewhere it stays a skip."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
SUITES = {
    "test_in_a_test.py": "import pytest\ndef test(): pytest.skip('no kcat')\n",
    "test_by_mark.py": "import pytest\n@pytest.mark.skip(reason='no kcat')\ndef test(): pass\n",
    "test_of_a_module.py": "import pytest\npytest.skip('no kcat', allow_module_level=True)\n",
    "test_expected.py": "import pytest\n@pytest.mark.xfail\ndef test(): assert False\n",
}


def outcome(directory: Path, ci: str | None) -> str:
    (directory / "conftest.py").write_text(CONFTEST.read_text())
    for name, text in SUITES.items():
        (directory / name).write_text(text)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {} if ci is None else {"CI": ci}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
    ]
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_in_ci_every_skip_fails_and_says_why(tmp_path: Path) -> None:
    out = outcome(tmp_path, "true")
    assert "1 failed, 1 xfailed, 2 errors" in out, out
    assert out.count("\nskipped, which CI does not allow: Skipped: no kcat") == 3


@pytest.mark.parametrize("ci", [None, "false"])
def test_elsewhere_a_skip_is_a_skip(tmp_path: Path, ci: str | None) -> None:
    assert "3 skipped, 1 xfailed" in outcome(tmp_path, ci)
