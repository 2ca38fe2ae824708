"""`tidelog pipeline run` where it cannot even begin: no Spark is started for that."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'tidelog[spark]'")

from tidelog.cli.main import run

PIPELINE = "name: copy\nsources:\n  in: {topic: a}\nsinks:\n  - {from: in, topic: b}\n"


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDELOG_PIPELINES", str(tmp_path / "state"))
    made = tmp_path / "copy.yaml"
    made.write_text(PIPELINE)
    return made


def test_a_checkpoint_that_is_no_directory(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "run", str(file), "--checkpoint", str(file)]) == 1
    assert "copy.yaml cannot be the directory of a checkpoint: Not a directory." in capsys.readouterr().err


def test_a_place_for_pipelines_that_is_none(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDELOG_PIPELINES", str(file))
    assert run(["pipeline", "run", str(file)]) == 1
    assert "copy.yaml/copy cannot be written to: Not a directory." in capsys.readouterr().err
