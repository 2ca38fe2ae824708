"""The extra `spark`: named where it is missing, and installed with its requirements and only those."""

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.cli.exits import Exit
from tidelog.cli.spark import install as spark_install
from tidelog.spark.engine.session import SparkMissing


def test_only_the_extra_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [
        "click>=8",
        "uvloop; extra == 'fast'",
        'pyspark==4.3.0; extra == "spark"',
        "pandas<3 ; extra=='spark'",
    ]
    monkeypatch.setattr(spark_install, "requires", lambda name: asked)
    assert spark_install.spark_requirements() == ["pyspark==4.3.0", "pandas<3"]


def test_an_installation_that_does_not_know_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_install, "requires", lambda name: ["click>=8"])
    with pytest.raises(SparkMissing, match=r"Try: pip install 'tidelog\[spark\]'"):
        spark_install.install_spark()


def without_the_extra(*command: str, directory: Path) -> "subprocess.CompletedProcess[str]":
    """In a Python of its own, in which the modules of the extra cannot be found."""
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({spark_install.NEEDED}));"
        f"from tidelog.cli.main import run; sys.exit(run({list(command)}))"
    )
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={"TIDELOG_PIPELINES": str(directory)},
    )  # fmt: skip


@pytest.mark.parametrize(
    "command", ["pipeline run x.yaml", "pipeline validate x.yaml", "lake sync orders --to table"]
)
def test_a_command_names_the_extra_that_it_lacks(command: str, tmp_path: Path) -> None:
    words = command.split()
    told = without_the_extra(*words, directory=tmp_path)
    assert told.returncode == Exit.FAILED
    assert f"'tidelog {' '.join(words[:2])}' needs the extra 'spark'" in told.stderr
    assert "Try: pip install 'tidelog[spark]'" in told.stderr
    assert "Traceback" not in told.stderr


def test_pipelines_are_listed_without_the_extra(tmp_path: Path) -> None:
    assert without_the_extra("pipeline", "list", directory=tmp_path).returncode == Exit.OK
