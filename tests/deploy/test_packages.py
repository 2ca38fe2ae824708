"""The wheel, the sdist and the single file: two builds are alike, and each runs a broker on its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.deploy.commands import broker, passes_a_record_on, run
from tests.deploy.docker_files import copied
from tests.deploy.wheelhouse import ROOT, wheelhouse
from tidelog import __version__
from tools.native import why_not

pytestmark = pytest.mark.timeout(300)


def build(directory: Path, source: Path = ROOT) -> tuple[Path, Path]:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", directory],
        cwd=source,
        check=True,
        capture_output=True,
    )
    [wheel], [sdist] = directory.glob("*.whl"), directory.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built"))


def test_two_builds_and_one_of_the_sdist_are_alike(built: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = built
    again, sdist_again = build(tmp_path / "again")
    assert (again.name, sdist_again.name) == (wheel.name, sdist.name)
    assert again.read_bytes() == wheel.read_bytes()
    assert sdist_again.read_bytes() == sdist.read_bytes()
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    from_sdist, _ = build(tmp_path / "from-sdist", tmp_path / f"tidelog-{__version__}")
    assert from_sdist.read_bytes() == wheel.read_bytes()


def test_what_the_dockerfile_copies_makes_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    for sources, destination in copied():
        for source in sources:
            target = tmp_path / destination
            if destination.startswith("/"):
                continue
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, target)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"], cwd=tmp_path, check=True
    )
    assert next((tmp_path / "dist").glob("*.whl")).read_bytes() == built[0].read_bytes()


def test_the_wheel_holds_man_pages_completions_runbooks_and_no_tests(built: tuple[Path, Path]) -> None:
    names = zipfile.ZipFile(built[0]).namelist()
    data = f"tidelog-{__version__}.data/data/share"
    for path in (
        "man/man1/tidelog.1",
        "man/man1/tidelog-topic.1",
        "bash-completion/completions/tidelog",
        "zsh/site-functions/_tidelog",
        "fish/vendor_completions.d/tidelog.fish",
    ):
        assert f"{data}/{path}" in names
    assert "tidelog/monitoring/runbook_pages/TidelogBrokerDown.md" in names
    packages = {name.split("/")[0] for name in names if ".dist-info" not in name and ".data" not in name}
    assert packages == {"tidelog", "pyspark_tidelog", "pyspark_tidelog_lake"}


def test_the_wheel_in_a_new_environment_runs_a_broker(built: tuple[Path, Path], tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index"]
    subprocess.run([*pip, "--find-links", wheelhouse(), built[0]], check=True)
    tidelog = python.parent / "tidelog"
    assert run([tidelog, "--version"]).stdout == f"tidelog {__version__}\n"
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "tidelog.1").exists()
    with broker([tidelog], tmp_path) as servers:
        passes_a_record_on([tidelog], servers)


def test_a_wheel_with_compiled_code_is_for_this_system(tmp_path: Path) -> None:
    if (missing := why_not()) is not None:
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    copy = tmp_path / "source"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if name.startswith(("src/", "tools/", "share/", "docs/r")) or "/" not in name:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run(command, cwd=copy, check=True, env={**os.environ, "TIDELOG_NATIVE": "1"})
    [wheel] = (copy / "dist").glob("*.whl")
    assert "none-any" not in wheel.name
    assert [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".so")] == [
        f"tidelog/broker/native/_plain_produce{sysconfig.get_config_var('EXT_SUFFIX')}"
    ]


def test_the_single_file_runs_a_broker_without_site_packages(tmp_path: Path) -> None:
    pyz = tmp_path / "tidelog.pyz"
    make = [sys.executable, "-m", "tools.zipapp", "--find-links", wheelhouse(), "--output", pyz]
    subprocess.run(make, cwd=ROOT, check=True)
    command = [sys.executable, "-I", "-S", pyz]
    home = {"HOME": str(tmp_path / "home")}
    assert run([*command, "--version"], **home).stdout == f"tidelog {__version__}\n"
    [unpacked] = (tmp_path / "home" / ".cache" / "tidelog").iterdir()
    assert unpacked.stat().st_mode & 0o077 == 0
    with broker(command, tmp_path, **home) as servers:
        passes_a_record_on(command, servers, **home)
    assert [unpacked] == list((tmp_path / "home" / ".cache" / "tidelog").iterdir())

    read_only = run([*command, "--version"], HOME="/proc")
    assert read_only.returncode == 1
    assert "Try: XDG_CACHE_HOME=DIR" in read_only.stderr
