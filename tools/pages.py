"""What the scripts that write reference pages share: compare with what is there, write, or only check."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Pages = Mapping[Path, Callable[[], str]]


def stale_pages(pages: Pages) -> list[Path]:
    """Those that differ from what would be written."""
    return [
        path
        for path, page in pages.items()
        if not path.exists() or path.read_text(encoding="utf-8") != page()
    ]


def run(pages: Pages, arguments: list[str]) -> int:
    """The exit code: 1 where `--check` finds a stale page."""
    stale = stale_pages(pages)
    for path in stale:
        if "--check" in arguments:
            sys.stderr.write(f"{path} is stale; run: make docs\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[path](), encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")
    return int(bool(stale) and "--check" in arguments)
