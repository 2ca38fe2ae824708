"""Signatures and fields as they stand in the source, with the annotations in the author's words."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

WIDTH = 100
PLAIN_DEFAULTS = {"field(default_factory=dict)": "{}", "field(default=())": "()"}


def annotated_fields(kind: type) -> Iterator[tuple[str, tuple[str, str]]]:
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("tidelog"):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                yield node.target.id, (_unquoted(node.annotation), _default(kind, node))


def _default(kind: type, node: ast.AnnAssign) -> str:
    if node.value is None:
        return ""
    value = getattr(kind, getattr(node.target, "id", ""), None)
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}"
    text = ast.unparse(node.value)
    return PLAIN_DEFAULTS.get(text, text)


def signature(name: str, function: Callable[..., Any]) -> str:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    prefix = "await " if isinstance(tree, ast.AsyncFunctionDef) else ""
    answer = "" if tree.returns is None or name[0].isupper() else f" -> {_unquoted(tree.returns)}"
    written = _parameters(tree.args)
    line = f"{prefix}{name}({', '.join(written)}){answer}"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{prefix}{name}(", *(f"    {each}," for each in written), f"){answer}"])


def _parameters(args: ast.arguments) -> list[str]:
    plain = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults)) + list(args.defaults)
    shown = [_parameter(arg, default) for arg, default in zip(plain, defaults, strict=True)]
    if plain and plain[0].arg in ("self", "cls"):
        shown = shown[1:]
    if args.vararg:
        shown.append(f"*{_parameter(args.vararg, None)}")
    elif args.kwonlyargs:
        shown.append("*")
    shown += [
        _parameter(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg:
        shown.append(f"**{_parameter(args.kwarg, None)}")
    return shown


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    kind = "" if arg.annotation is None else f": {_unquoted(arg.annotation)}"
    if default is None:
        return f"{arg.arg}{kind}"
    return f"{arg.arg}{kind}{' = ' if kind else '='}{ast.unparse(default)}"


def _unquoted(annotation: ast.expr) -> str:
    return re.sub(r"'([^']*)'", r"\1", ast.unparse(annotation))
