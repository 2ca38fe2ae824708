"""Raft told as transcripts: every command in them brings about exactly what is written below it.

`TIDELOG_REWRITE_TRANSCRIPTS=1 pytest tests/unit/raft` writes them anew after a change that is meant.
"""

import os
from pathlib import Path

import pytest

from tests.rigs.raft.transcript import replay

DIRECTORY = Path(__file__).parent / "transcripts"
FILES = sorted(DIRECTORY.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_commands_bring_about_what_is_written(file: Path) -> None:
    text = file.read_text()
    replayed = replay(text)
    if os.environ.get("TIDELOG_REWRITE_TRANSCRIPTS"):
        file.write_text(replayed)
    else:
        assert replayed == text


def test_there_are_transcripts() -> None:
    assert len(FILES) >= 10
