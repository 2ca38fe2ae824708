"""`import tidelog` is cheap, and what type checkers see is what there is at run time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog


def declared_for_type_checkers() -> dict[str, str]:
    tree = ast.parse(Path(tidelog.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname: statement.module
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.asname and statement.module
    }


def test_both_lists_name_the_same() -> None:
    assert {f"tidelog.{home}.{name}" for name, home in tidelog._MODULE_OF.items()} == {
        f"{module}.{name}" for name, module in declared_for_type_checkers().items()
    }


@pytest.mark.parametrize("name", sorted(tidelog._MODULE_OF))
def test_every_name_is_there(name: str) -> None:
    assert getattr(tidelog, name).__name__ == name
    assert name in dir(tidelog)


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Produser"):
        _ = tidelog.Produser  # type: ignore[attr-defined]


def test_everything_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from tidelog import *", names)
    assert names.keys() >= set(tidelog._MODULE_OF)


def test_importing_tidelog_loads_nothing() -> None:
    code = "import sys, tidelog; print(*[n for n in sys.modules if n.startswith(('tidelog', 'confluent'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tidelog"]


def test_a_broker_never_loads_librdkafka() -> None:
    code = (
        "import sys, tidelog.node.node; "
        "print('confluent_kafka' in sys.modules, 'tidelog.clients' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
