"""man and bash themselves read the pages and scripts of the wheel without a complaint."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.man_pages import REFERENCE, man_pages

SHARE = Path(__file__).parents[2] / "share"
PAGES = man_pages(REFERENCE.read_text())


@pytest.mark.parametrize("name", PAGES)
def test_man_renders_the_page_without_a_warning(name: str, tmp_path: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("no man; on Debian: apt-get install man-db")
    page = tmp_path / name
    page.write_text(PAGES[name])
    command = ["man", "--warnings=all", "--encoding=UTF-8", "--local-file", page]
    # A width at which no option is too long for its line.
    environment = {"MANWIDTH": "120", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, env=environment)
    assert done.stderr == ""
    assert "SYNOPSIS" in done.stdout
    assert "SEE ALSO" in done.stdout


def test_bash_reads_its_completions() -> None:
    script = f"source {SHARE / 'bash-completion' / 'completions' / 'tidelog'} && complete -p tidelog"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert "_tidelog_completion" in done.stdout
