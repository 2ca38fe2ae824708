"""Reads a tree as a shape, one level at a time and each schema once, as long as its reader is kept.

The kinds of keywords become shapes in the order in which Confluent looks for them: enum, combinations, not,
const, the types, and then keywords of types that `type` does not name.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from tidelog.base.weak import weak
from tidelog.registry.json_schema.checking import is_reference_alone, reference_of
from tidelog.registry.json_schema.digests import Digests
from tidelog.registry.json_schema.drafts import DRAFT_4, Draft
from tidelog.registry.json_schema.json_text import Tree
from tidelog.registry.json_schema.library import Document, Library
from tidelog.registry.json_schema.paths import path_of
from tidelog.registry.json_schema.shapes import (
    Anything,
    Combined,
    ConstShape,
    Criterion,
    EnumShape,
    Member,
    Notes,
    Nothing,
    NotShape,
    Part,
    Referring,
    Shape,
)
from tidelog.registry.json_schema.typed import Typed

_ANYTHING: Final = Anything()
_NOTHING: Final = Nothing()


class Reader:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._digests = Digests()
        self._shapes: dict[int, Shape] = {}
        self._weak = weak(self)  # for the shapes: a broker never frees what is in a cycle

    def root(self) -> Shape:
        return self.shape(self._library.root.tree, self._library.root)

    def shape(self, tree: Tree, around: Document) -> Shape:
        """Returns the one shape of a tree, so that shapes can be told apart by identity. For any thread."""
        if isinstance(tree, bool):
            return _ANYTHING if tree else _NOTHING
        known = self._shapes.get(id(tree))
        if known is None:
            document = self._library.document_of(tree, around)
            known = self._shapes.setdefault(id(tree), _Level(self, tree, document).shape())
        return known

    def part(self, tree: Tree, document: Document) -> Part:
        reader = self._weak
        return lambda: reader.shape(tree, document)

    def target(self, reference: str, document: Document) -> Part:
        reader, library = self._weak, self._library
        return lambda: reader.shape(*library.resolve(reference, document, path_of(reference)))

    def digest(self, tree: Tree) -> bytes:
        return self._digests.of(tree)


class _Level:
    """One schema object being read."""

    def __init__(self, reader: Reader, tree: dict[str, Any], document: Document) -> None:
        self._reader = reader
        self._tree = tree
        self._document = document
        self._draft: Draft = document.draft

    def shape(self) -> Shape:
        shapes = list(self._shapes())
        match shapes:
            case []:
                shape: Shape = Anything()
            case [only]:
                shape = only
            case _:
                shape = Combined(criterion=Criterion.ALL, members=tuple(map(_known_member, shapes)))
        is_bytes = self._tree.get("connect.type") == "bytes"
        return replace(shape, notes=self._notes(), is_connect_bytes=is_bytes)

    def _shapes(self) -> Iterator[Shape]:
        tree = self._tree
        if is_reference_alone(tree, self._draft):
            yield Referring(target=self._reader.target(reference_of(tree, self._draft), self._document))
            return
        for keyword in self._draft.references:
            if keyword in tree:
                yield Referring(target=self._reader.target(tree[keyword], self._document))
        if "enum" in tree:
            yield EnumShape(values=frozenset(map(self._reader.digest, tree["enum"])))
        for criterion in Criterion:
            if criterion in tree:
                members = {self._reader.digest(each): self._part(each) for each in tree[criterion]}
                yield Combined(
                    criterion=criterion, members=tuple(Member(*member) for member in members.items())
                )
        if "not" in tree:
            yield NotShape(part=self._part(tree["not"]))
        if "const" in tree and self._draft is not DRAFT_4:
            yield ConstShape(value=self._reader.digest(tree["const"]))
        typed = Typed(tree, self._draft, self._part)
        shapes = typed.named()
        if isinstance(tree.get("type"), list):
            yield Combined(criterion=Criterion.ANY, members=tuple(map(_known_member, shapes)))
        else:
            yield from shapes
        yield from typed.unnamed()

    def _notes(self) -> Notes:
        tree = self._tree
        return Notes(
            id=tree.get(self._draft.id_keyword),
            title=tree.get("title"),
            description=tree.get("description"),
            default=self._reader.digest(tree["default"]) if "default" in tree else None,
        )

    def _part(self, tree: Tree) -> Part:
        return self._reader.part(tree, self._document)


def _known_member(shape: Shape) -> Member:
    """A shape beside others of one schema. Its kind is its digest: there is one of each."""
    kind = shape.criterion if isinstance(shape, Combined) else type(shape).__name__
    return Member(kind.encode(), lambda: shape)
