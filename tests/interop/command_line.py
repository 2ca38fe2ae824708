"""The tidelog command inside the test's own process: quick, and its exit code and output at hand."""

import io
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tidelog.cli.main import run


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Tidelog = Callable[..., Done]


class Keyboard(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run_here(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: Sequence[str],
    stdin: bytes,
    typed: bytes | None,
) -> Done:
    stream = io.TextIOWrapper(io.BytesIO(stdin)) if typed is None else Keyboard(io.BytesIO(typed))
    monkeypatch.setattr(sys, "stdin", stream)
    code = run(list(arguments))
    caught = capsys.readouterr()
    assert "Traceback" not in caught.err
    assert "rdkafka" not in caught.err
    return Done(code, caught.out, caught.err)


def console_commands(page: Path) -> list[str]:
    """The commands of a page's console blocks, in their order."""
    return [
        line.removeprefix("$ ")
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL)
        for line in block.splitlines()
    ]
