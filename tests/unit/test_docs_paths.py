"""Every file and room that a page names in backticks exists: `storage/log.py`, `storage/segment/`."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "tidelog"
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "reference" not in path.parts)
ROOMS = {path.name for path in SRC.iterdir()}

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.py))(?::[\w.]+)?`")


def named_paths(text: str) -> list[str]:
    """Files with their rooms, and rooms; a file without its room may be any page's own shorthand."""
    paths = _PATH.findall(_FENCED.sub("", text))
    return [path for path in paths if (path.endswith(".py") and "/" in path) or path.split("/")[0] in ROOMS]


def exists(path: str) -> bool:
    return any(
        (base / path).is_dir() if path.endswith("/") else (base / path).is_file() for base in (SRC, ROOT)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_paths_exist(page: Path) -> None:
    assert [path for path in named_paths(page.read_text()) if not exists(path)] == []


def test_a_path_that_is_gone_is_noticed() -> None:
    paths = named_paths("`storage/log.py`, `storage/gone.py:Log.append`, `core.py`, `broker/requests/`")
    assert paths == ["storage/log.py", "storage/gone.py", "broker/requests/"]
    assert [exists(path) for path in paths] == [True, False, True]
