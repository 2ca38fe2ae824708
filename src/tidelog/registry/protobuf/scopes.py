"""Where a name stands: in a package, and in the messages around it.

Each place shares those around it, so that a package of many parts costs no more for each message in it.
"""

from collections.abc import Iterator

from tidelog.registry.protobuf.elements import File


class Scope:
    __slots__ = ("_around", "prefix")

    def __init__(self, around: "Scope | None" = None, prefix: str = "") -> None:
        self._around = around
        self.prefix = prefix
        """Of the full names of what is declared here; it ends in a dot, or is empty."""

    def inside(self, name: str) -> "Scope":
        return Scope(self, f"{self.prefix}{name}.")

    def outward(self) -> "Iterator[Scope]":
        """Yields this place and those around it; the last one is around every package."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope._around

    def __str__(self) -> str:
        return self.prefix[:-1]


def scope_of(file: File) -> Scope:
    scope = Scope()
    for part in file.package.split(".") if file.package else ():
        scope = scope.inside(part)
    return scope
