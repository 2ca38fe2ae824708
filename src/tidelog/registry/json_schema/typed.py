"""The shapes of single types in a schema: strings, numbers, objects and arrays, out of their keywords."""

from collections.abc import Callable, Iterator
from typing import Any

from tidelog.registry.json_schema.drafts import CONDITIONS, DRAFT_4, DRAFT_6, NUMBERS, Draft
from tidelog.registry.json_schema.json_text import Tree
from tidelog.registry.json_schema.shapes import (
    ArrayShape,
    BooleanShape,
    Conditional,
    NullShape,
    NumberShape,
    ObjectShape,
    Part,
    Rest,
    Shape,
    StringShape,
)


class Typed:
    """A schema object of a draft. `part` makes the part of a schema inside."""

    def __init__(self, tree: dict[str, Any], draft: Draft, part: Callable[[Tree], Part]) -> None:
        self._tree = tree
        self._draft = draft
        self._part = part

    def named(self) -> list[Shape]:
        """Returns the shapes of the types that `type` names."""
        return [self._of_type(name) for name in self._names()]

    def unnamed(self) -> Iterator[Shape]:
        """Yields the shapes of other types, where the schema has keywords of these."""
        tree, draft, names = self._tree, self._draft, self._names()
        if "array" not in names and draft.arrays & tree.keys():
            yield self._array()
        if "object" not in names and draft.objects & tree.keys():
            yield self._object()
        if not {"number", "integer"} & set(names) and NUMBERS & tree.keys():
            yield self._number(is_integer=False)
        if "string" not in names and draft.strings & tree.keys():
            yield self._string()
        if draft not in (DRAFT_4, DRAFT_6) and CONDITIONS & tree.keys():
            yield Conditional()

    def _names(self) -> list[str]:
        types = self._tree.get("type", [])
        return list(dict.fromkeys(types if isinstance(types, list) else [types]))

    def _of_type(self, name: str) -> Shape:
        match name:
            case "string":
                return self._string()
            case "integer" | "number":
                return self._number(is_integer=name == "integer")
            case "boolean":
                return BooleanShape()
            case "null":
                return NullShape()
            case "array":
                return self._array()
            case _:
                return self._object()

    def _string(self) -> Shape:
        tree = self._tree
        return StringShape(
            max_length=tree.get("maxLength"), min_length=tree.get("minLength"), pattern=tree.get("pattern")
        )

    def _number(self, is_integer: bool) -> Shape:
        tree = self._tree
        return NumberShape(
            maximum=tree.get("maximum"),
            minimum=tree.get("minimum"),
            exclusive_maximum=self._exclusive("maximum", "exclusiveMaximum"),
            exclusive_minimum=self._exclusive("minimum", "exclusiveMinimum"),
            multiple_of=tree.get("multipleOf"),
            is_integer=is_integer,
        )

    def _exclusive(self, limit: str, keyword: str) -> Any:
        """In draft 4 the keyword is true or false, and the limit is the other keyword's."""
        value = self._tree.get(keyword)
        if isinstance(value, bool):
            return self._tree.get(limit) if value else None
        return value

    def _object(self) -> Shape:
        tree = self._tree
        needed = {} if self._draft.composes else tree.get("dependencies", {})
        names = {name: value for name, value in needed.items() if isinstance(value, list)}
        schemas = {name: value for name, value in needed.items() if not isinstance(value, list)}
        if self._draft.composes:
            names, schemas = tree.get("dependentRequired", {}), tree.get("dependentSchemas", {})
        return ObjectShape(
            properties=self._parts(tree.get("properties", {})),
            required=frozenset(tree.get("required", ())),
            pattern_properties=self._parts(tree.get("patternProperties", {})),
            rest=self._rest(tree.get("additionalProperties", True), tree.get("unevaluatedProperties")),
            needed_names={name: frozenset(others) for name, others in names.items()},
            needed_schemas=self._parts(schemas),
            max_properties=tree.get("maxProperties"),
            min_properties=tree.get("minProperties"),
        )

    def _array(self) -> Shape:
        tree = self._tree
        items, following = tree.get("items"), tree.get("additionalItems", True)
        listed = items if isinstance(items, list) else []
        if self._draft.composes and not listed:
            listed = tree.get("prefixItems", [])
            if listed or items is False:
                items, following = None, True if items is None else items
        every = items if isinstance(items, dict) or items is False else None
        counts = self._draft.composes and "contains" in tree
        return ArrayShape(
            every_item=None if every is None else self._part(every),
            items=tuple(map(self._part, listed)),
            rest=self._rest(following, tree.get("unevaluatedItems")),
            max_items=tree.get("maxItems"),
            min_items=tree.get("minItems"),
            max_contains=tree.get("maxContains") if counts else None,
            min_contains=tree.get("minContains", 1) if counts else None,
            is_unique=tree.get("uniqueItems", False),
        )

    def _rest(self, additional: Tree, unevaluated: Tree) -> Rest:
        return Rest(
            is_allowed=additional is not False,
            part=None if isinstance(additional, bool) else self._part(additional),
            unevaluated=self._part(unevaluated) if self._draft.composes and unevaluated is not None else None,
        )

    def _parts(self, trees: dict[str, Tree]) -> dict[str, Part]:
        return {name: self._part(tree) for name, tree in trees.items()}
