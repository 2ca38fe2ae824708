"""The examples of docs/client.md and of other pages, ready to run against some broker."""

import re
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
BLOCK = re.compile(r"(<!-- needs a group -->\n)?```python\n(.*?)```", re.DOTALL)


class Example(NamedTuple):
    line: int
    needs_group: bool
    code: str
    page: Path = PAGE

    def run(self, address: str, registry: str = "") -> None:
        text = self.code.replace("localhost:9092", address).replace("http://localhost:8081", registry)
        code = compile("\n" * self.line + text, str(self.page), "exec")
        names: dict[str, Any] = {"__name__": "example"}
        exec(code, names)


def examples(*, needs_group: bool, page: Path = PAGE) -> list[Example]:
    text = page.read_text()
    return [
        Example(text.count("\n", 0, found.start(2)), found[1] is not None, found[2], page)
        for found in BLOCK.finditer(text)
        if (found[1] is not None) == needs_group
    ]
