"""The examples of docs/client.md, ready to run against some broker."""

import re
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
BLOCK = re.compile(r"(<!-- needs a group -->\n)?```python\n(.*?)```", re.DOTALL)


class Example(NamedTuple):
    line: int
    needs_group: bool
    code: str

    def run(self, address: str) -> None:
        code = compile("\n" * self.line + self.code.replace("localhost:9092", address), str(PAGE), "exec")
        names: dict[str, Any] = {"__name__": "example"}
        exec(code, names)


def examples(*, needs_group: bool) -> list[Example]:
    text = PAGE.read_text()
    return [
        Example(text.count("\n", 0, found.start(2)), found[1] is not None, found[2])
        for found in BLOCK.finditer(text)
        if (found[1] is not None) == needs_group
    ]
