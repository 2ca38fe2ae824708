"""docs/client.md draws the tree of errors as it is."""

from pathlib import Path

from tidelog.base.errors import TidelogError
from tidelog.clients.errors import ClientError

PAGE = Path(__file__).parents[3] / "docs" / "client.md"


def drawn(kind: type[Exception], stem: str = "") -> list[str]:
    children = [each for each in kind.__subclasses__() if each.__module__ == ClientError.__module__]
    lines = []
    for child in children:
        is_last = child is children[-1]
        lines.append(f"{stem}{'└── ' if is_last else '├── '}{child.__name__}")
        lines += drawn(child, stem + ("    " if is_last else "│   "))
    return lines


def test_the_drawing_is_true() -> None:
    tree = "\n".join(["TidelogError", *drawn(TidelogError)])
    assert f"```text\n{tree}\n```" in PAGE.read_text(), f"draw this in docs/client.md:\n{tree}"


def test_every_error_is_exported() -> None:
    import tidelog

    names = {line.split()[-1] for line in drawn(TidelogError)}
    assert len(names) > 20
    assert names <= set(tidelog._MODULE_OF)
