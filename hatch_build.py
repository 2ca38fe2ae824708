"""What the wheel holds beside the packages: man pages, made of the page of all commands."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface):  # type: ignore[misc, type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from tools.man_pages import write_man_pages

        self._directory = tempfile.TemporaryDirectory()
        for page in write_man_pages(Path(self._directory.name)):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._directory.cleanup()
