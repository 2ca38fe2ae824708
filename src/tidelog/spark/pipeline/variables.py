"""`${env:NAME}` and `${file:PATH}` in the values of a pipeline, so that secrets and addresses stay out of it.

They are filled in after the YAML was read, so that what is filled in cannot change what the file says: a
value stays one value. Secrets of connections stay variables: Spark shows options in plans, and the data
source fills them in where it connects.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tidelog.base.variables import (
    Unresolved,
    VariableSources,
    has_variables,
    machine_sources,
    resolve,
    with_absolute_files,
    without_values,
)
from tidelog.blocking.secret_names import is_secret_name
from tidelog.spark.pipeline.faults import Fault
from tidelog.spark.pipeline.lines import Place, place_text
from tidelog.spark.pipeline.nodes import YamlNode


def fill(node: YamlNode, directory: Path, environment: Mapping[str, str] | None = None) -> "Filled":
    """The tree with every variable filled in, and those that cannot be."""
    filler = _Filler(machine_sources(directory, environment))
    return Filled(filler.fill(node, ()), filler.faults, filler.written)


class Filled(NamedTuple):
    tree: YamlNode
    faults: list[Fault]
    written: dict[str, str]
    """What was written, by the value that its variables gave."""

    def without_values(self, fault: Fault) -> Fault:
        return fault._replace(message=without_values(fault.message, self.written))


class _Filler:
    def __init__(self, sources: VariableSources) -> None:
        self._sources = sources
        self.faults: list[Fault] = []
        self.written: dict[str, str] = {}

    def fill(self, node: YamlNode, place: Place) -> YamlNode:
        if node.entries is not None:
            return replace(
                node, entries={key: self.fill(inner, (*place, key)) for key, inner in node.entries.items()}
            )
        if node.items is not None:
            items = [self.fill(item, (*place, number)) for number, item in enumerate(node.items)]
            return replace(node, items=items)
        if not isinstance(node.value, str) or not has_variables(node.value):
            return node
        try:
            value = resolve(node.value, self._sources)
        except Unresolved as error:
            self.faults.append(Fault(node.line, place_text(place), str(error)))
            return node
        self.written[value] = node.value
        if _is_secret(place):
            value = with_absolute_files(node.value, self._sources)
        return replace(node, value=value, is_filled=True)


def _is_secret(place: Place) -> bool:
    return len(place) > 1 and place[-2] == "options" and is_secret_name(str(place[-1]))
