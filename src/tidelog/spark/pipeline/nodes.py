"""YAML as a tree that knows its lines, so that a mistake can be shown where it is."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from tidelog.spark.pipeline.faults import Fault, InvalidPipeline


@dataclass(slots=True)
class YamlNode:
    line: int | None
    value: object = None
    """Of a scalar."""
    text_line: int | None = None
    """Where the first line of a text is that is written as a block (`|`)."""
    is_filled: bool = False
    """It held a variable, so whatever type it is meant to have, text is what is there."""
    items: "list[YamlNode] | None" = None
    """Of a list."""
    entries: "dict[str, YamlNode] | None" = None
    """Of a mapping."""
    key_lines: dict[str, int | None] = field(default_factory=dict)

    def plain(self) -> object:
        if self.entries is not None:
            return {key: node.plain() for key, node in self.entries.items()}
        if self.items is not None:
            return [node.plain() for node in self.items]
        return self.value


def read_yaml(text: str) -> YamlNode:
    """The tree of one document. Raises InvalidPipeline for what is no YAML."""
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            raise InvalidPipeline([Fault(1, "", "the file is empty")])
        return _node(root, loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        said = " ".join(filter(None, (error.context, error.problem)))
        raise InvalidPipeline([Fault(line, "", f"not YAML: {said}")]) from error
    except yaml.YAMLError as error:
        raise InvalidPipeline([Fault(None, "", f"not YAML: {error}")]) from error
    except RecursionError:
        raise InvalidPipeline(
            [Fault(None, "", "not YAML: it is nested too deep, or within itself")]
        ) from None


def of_plain(value: object) -> YamlNode:
    """The tree of values that come from Python, which have no lines."""
    if isinstance(value, dict):
        return YamlNode(None, entries={str(key): of_plain(inner) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return YamlNode(None, items=[of_plain(inner) for inner in value])
    return YamlNode(None, value)


def _node(node: yaml.Node, loader: yaml.SafeLoader) -> YamlNode:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)
        made = YamlNode(line, entries={})
        for key, inner, key_line in _entries(node, loader):
            if made.entries is not None and key in made.entries:
                raise InvalidPipeline([Fault(key_line, key, f"the key '{key}' is there twice")])
            made.entries = {**(made.entries or {}), key: inner}
            made.key_lines[key] = key_line
        return made
    if isinstance(node, yaml.SequenceNode):
        return YamlNode(line, items=[_node(item, loader) for item in node.value])
    try:
        text_line = line + 1 if isinstance(node, yaml.ScalarNode) and node.style == "|" else None
        return YamlNode(line, loader.construct_object(node), text_line=text_line)
    except (ValueError, LookupError, AttributeError) as error:  # a thirteenth month, say
        said = f"{node.value!r} looks like {node.tag.rpartition(':')[2]}, and is none: {error}"
        raise InvalidPipeline([Fault(line, "", f"{said}; put it into quotes if it is text")]) from error


def _entries(node: yaml.MappingNode, loader: yaml.SafeLoader) -> Iterator[tuple[str, YamlNode, int]]:
    for key, value in node.value:
        yield str(key.value), _node(value, loader), key.start_mark.line + 1
