"""The examples in the docstrings of public names, ready to run against some broker."""

import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

TOOLS = Path(__file__).parents[2] / "tools"


class DocstringExample(NamedTuple):
    name: str
    module: str
    code: str

    def run(self, address: str) -> dict[str, Any]:
        """The names that it leaves behind."""
        names: dict[str, Any] = {"__name__": "example"}
        exec(compile(self.code.replace("localhost:9092", address), self.name, "exec"), names)
        return names


def docstring_examples() -> list[DocstringExample]:
    sys.path.insert(0, str(TOOLS))
    try:
        from docstrings import read_docstring
        from public_names import function_of, members, public
    finally:
        sys.path.remove(str(TOOLS))

    written: dict[str, Any] = {}
    for name, thing in public():
        written[name] = thing if isinstance(thing, type) else function_of(thing)
        if isinstance(thing, type):
            written |= {f"{name}.{each}": function_of(member) for each, member in members(thing)}
    return [
        DocstringExample(name, thing.__module__, example)
        for name, thing in written.items()
        if (example := read_docstring(inspect.getdoc(thing)).example)
    ]
