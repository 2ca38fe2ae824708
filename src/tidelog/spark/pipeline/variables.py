"""`${env:NAME}` and `${file:PATH}` in the values of a pipeline, so that secrets and addresses stay out of it.

They are filled in after the YAML was read, so that what is filled in cannot change what the file says: a
value stays one value. `$${` stands for `${` itself.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tidelog.spark.pipeline.faults import Fault
from tidelog.spark.pipeline.lines import Place, place_text
from tidelog.spark.pipeline.nodes import YamlNode

VARIABLE = re.compile(r"\$?\$\{(?P<inside>[^}]*)\}")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
FILE_BYTES_MAX = 1 << 20


class Unfilled(ValueError):
    """A variable that has no value; the message says what to write or to set."""


def fill(
    node: YamlNode, directory: Path, environment: Mapping[str, str] | None = None
) -> tuple[YamlNode, list[Fault]]:
    """The tree with every variable filled in, and those that cannot be."""
    filler = _Filler(directory, os.environ if environment is None else environment)
    return filler.fill(node, ()), filler.faults


class _Filler:
    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._environment = environment
        self.faults: list[Fault] = []

    def fill(self, node: YamlNode, place: Place) -> YamlNode:
        if node.entries is not None:
            return replace(
                node, entries={key: self.fill(inner, (*place, key)) for key, inner in node.entries.items()}
            )
        if node.items is not None:
            items = [self.fill(item, (*place, number)) for number, item in enumerate(node.items)]
            return replace(node, items=items)
        if not isinstance(node.value, str) or "${" not in node.value:
            return node
        try:
            value = VARIABLE.sub(self._value, node.value)
        except Unfilled as error:
            self.faults.append(Fault(node.line, place_text(place), str(error)))
            return node
        return replace(node, value=value, is_filled=True)

    def _value(self, found: "re.Match[str]") -> str:
        whole, inside = found[0], found["inside"]
        if whole.startswith("$$"):
            return whole[1:]
        kind, colon, rest = inside.partition(":")
        if not colon:
            kind, rest = "env", inside
        if kind == "file" and rest:
            return self._file(rest)
        name, has_default, default = rest.partition(":-")
        if kind != "env" or not NAME.match(name):
            raise Unfilled(
                f"'{whole}' is neither ${{env:NAME}} nor ${{file:PATH}}; write '$${{' where '${{' is meant"
            )
        if name in self._environment:
            return self._environment[name]
        if has_default:
            return default
        raise Unfilled(
            f"the environment variable {name} is not set; set it,"
            f" or give it a default: ${{env:{name}:-VALUE}}"
        )

    def _file(self, name: str) -> str:
        path = self._directory / name
        try:
            with path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            if len(data) > FILE_BYTES_MAX:
                raise Unfilled(f"{path} has more than {FILE_BYTES_MAX:,} bytes, too many for a value")
            return data.decode().rstrip("\r\n")
        except OSError as error:
            raise Unfilled(f"cannot read {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise Unfilled(f"{path} is not text") from error
