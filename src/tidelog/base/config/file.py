"""The settings file: YAML with Kafka's dotted names, flat or nested (`log: {retention: {ms: 7d}}`).

Values stay the texts that were written: the settings table knows their types, YAML would only guess them.
"""

from collections.abc import Iterator
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from tidelog.base.config.error import Problem

if TYPE_CHECKING:
    from yaml import MappingNode, Node


class Given(NamedTuple):
    name: str
    raw: str | list[str]
    where: str


def read_settings_file(path: str | PathLike[str], problems: list[Problem]) -> list[Given]:
    """What the file gives, with the line of each; what is wrong with the file itself goes to `problems`."""
    import yaml  # a broker without a file does not pay for it

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        with open(path, encoding="utf-8") as file:
            root = yaml.compose(file, Loader=loader)
    except OSError as error:
        problems.append(Problem("settings file", f"cannot be read: {error.strerror}", str(path)))
        return []
    except UnicodeDecodeError as error:
        problems.append(Problem("settings file", f"is not UTF-8 text: {error.reason}", str(path)))
        return []
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        problems.append(Problem("settings file", f"is not YAML: {error.problem}", f"{path}{line}"))
        return []
    except yaml.YAMLError as error:
        problems.append(Problem("settings file", f"is not YAML: {error}", str(path)))
        return []
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        problems.append(Problem("settings file", "must hold lines of the form name: value", str(path)))
        return []
    return _FileReader(str(path), problems).read(root)


class _FileReader:
    def __init__(self, path: str, problems: list[Problem]) -> None:
        self._path = path
        self._problems = problems
        self._lines: dict[str, int] = {}

    def read(self, root: "MappingNode") -> list[Given]:
        return list(self._walk(root, ""))

    def _walk(self, mapping: "MappingNode", prefix: str) -> Iterator[Given]:
        for key, node in mapping.value:
            name, line = f"{prefix}{key.value}", key.start_mark.line + 1
            where = f"{self._path}:{line}"
            if node.id == "mapping":
                yield from self._walk(node, f"{name}.")
                continue
            try:
                if name in self._lines:
                    raise ValueError(f"is given twice, first in line {self._lines[name]}")
                self._lines[name] = line
                yield Given(name, _raw(node), where)
            except ValueError as error:
                self._problems.append(Problem(name, str(error), where))


def _raw(node: "Node") -> str | list[str]:
    if node.tag == "tag:yaml.org,2002:null":
        raise ValueError("has no value; remove the line to keep the default")
    if isinstance(node.value, str):
        return node.value
    if not all(isinstance(item.value, str) for item in node.value):
        raise ValueError("expected a list of strings")
    return [item.value for item in node.value]
