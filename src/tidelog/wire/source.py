"""Builds the source of one function line by line, with the constants it closes over."""

from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any


class Source:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._indent = ""
        self._count = 0

    def emit(self, line: str) -> None:
        self.lines.append(self._indent + line)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.emit(header)
        outer, before = self._indent, len(self.lines)
        self._indent = outer + " "
        yield
        if len(self.lines) == before:
            self.emit("pass")
        self._indent = outer

    def fresh(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def constant(self, value: Any, hint: str) -> str:
        for name, known in self.names.items():
            if known is value:
                return name
        name = self.fresh(hint)
        self.names[name] = value
        return name

    def layout(self, codes: list[str], method: str) -> tuple[str, int]:
        """The name of a method of the struct with these format codes, and the struct's size."""
        layout = Struct(">" + "".join(codes))
        name = f"{method}_{''.join(codes)}".replace("?", "o")
        self.names.setdefault(name, getattr(layout, method))
        return name, layout.size

    def function(self, name: str, title: str) -> Any:
        code = compile("\n".join(self.lines), f"<{title}>", "exec")
        exec(code, self.names)
        return self.names[name]
