"""The examples in the docstrings of public names, ready to run against some broker."""

import inspect
from typing import Any, NamedTuple

from tools.docstrings import read_docstring
from tools.public_names import function_of, members, public


class DocstringExample(NamedTuple):
    name: str
    module: str
    code: str

    def run(self, address: str, registry: str = "") -> dict[str, Any]:
        """The names that it leaves behind."""
        names: dict[str, Any] = {"__name__": "example"}
        code = self.code.replace("localhost:9092", address).replace("http://localhost:8081", registry)
        exec(compile(code, self.name, "exec"), names)
        return names


def docstring_examples() -> list[DocstringExample]:
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
