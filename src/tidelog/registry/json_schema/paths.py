"""Paths of schemas in a schema, as links that share their beginnings: a text is made for a message alone.

A text for each schema would repeat the names around it: a long name with many schemas inside is cheap to
send, and their texts together are not.
"""

from typing import Final, TypeAlias

PATH_CHARS_MAX: Final = 1000
"""Of a path in a message. Of a longer one the end is shown."""

Path: TypeAlias = "tuple[Path, tuple[str | int, ...]] | None"
"""The last steps, and the path before them."""


def path_of(reference: str) -> Path:
    """Returns the path of what a reference leads to."""
    return None, (reference,)


def shown(path: Path) -> str:
    """Returns the steps with slashes between them, in at most a few more than `PATH_CHARS_MAX` characters."""
    ending: list[str] = []
    left = PATH_CHARS_MAX
    while path is not None:
        path, steps = path
        for step in map(str, reversed(steps)):
            if left <= 0:
                return "/".join(["...", *reversed(ending)])
            ending.append(step if len(step) <= left else f"{step[:left]}...")
            left -= len(step) + 1
    return "/".join(reversed(ending))


def shortened(text: str) -> str:
    return text if len(text) <= PATH_CHARS_MAX else f"{text[:PATH_CHARS_MAX]}..."
