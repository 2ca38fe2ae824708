"""What the wheel holds beside the packages: man pages; with TIDELOG_NATIVE=1 the compiled produce path."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Additions(BuildHookInterface):  # type: ignore[misc, type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        if os.environ.get("TIDELOG_NATIVE") == "1":
            self._compile(build_data)
        if version == "editable":
            return
        from tools.man_pages import write_man_pages

        self._directory = tempfile.TemporaryDirectory()
        for page in write_man_pages(Path(self._directory.name)):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def _compile(self, build_data: dict[str, Any]) -> None:
        from tools.native import build

        made = build()
        build_data["artifacts"].append(str(made.relative_to(self.root)))
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._directory.cleanup()
