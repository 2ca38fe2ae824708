"""Checks a whole schema: every keyword in it, and every schema that a `$ref` in it leads to.

A walk with a list of its own, so that no depth and no cycle of references costs Python's stack.
"""

from typing import Any, Final, NamedTuple

from tidelog.registry.json_schema.drafts import NUMBERS, Draft
from tidelog.registry.json_schema.json_text import Tree
from tidelog.registry.json_schema.keywords import check_keywords, is_schema
from tidelog.registry.json_schema.library import Document, Library
from tidelog.registry.json_schema.paths import Path, path_of, shown
from tidelog.registry.json_schema.subschemas import subschemas
from tidelog.registry.parsed import SchemaError

CHAIN_MAX: Final = 100


class _Place(NamedTuple):
    tree: Tree
    document: Document
    path: Path


def check(library: Library) -> None:
    """Raises SchemaError for the first keyword, and the first reference, that cannot be understood."""
    root = library.root
    if not is_schema(root.tree):
        raise SchemaError("A JSON schema is an object, true or false. Send such a text, or another type.")
    seen: set[int] = set()
    chains = _Chains(library)
    waiting = [_Place(root.tree, root, path_of("#"))]
    while waiting:
        tree, document, path = waiting.pop()
        if not isinstance(tree, dict) or id(tree) in seen:
            continue
        seen.add(id(tree))
        check_keywords(tree, document.draft, path)
        for inner in subschemas(tree):
            within = library.document_of(inner.tree, document)
            waiting.append(_Place(inner.tree, within, (path, inner.steps)))
        for keyword in document.draft.references:
            if keyword in tree:
                target, within = library.resolve(tree[keyword], document, path)
                chains.check(tree, document, path)
                waiting.append(_Place(target, within, path_of(tree[keyword])))


def is_reference_alone(tree: Any, draft: Draft) -> bool:
    """Whether a schema says nothing but what its `$ref` says."""
    if not isinstance(tree, dict) or not any(keyword in tree for keyword in draft.references):
        return False
    if not draft.composes:
        return True
    asserts = (draft.strings, draft.arrays, draft.objects, NUMBERS, _ASSERTIONS)
    references = sum(keyword in tree for keyword in draft.references)
    return references == 1 and all(keywords.isdisjoint(tree) for keywords in asserts)


def reference_of(tree: dict[str, Any], draft: Draft) -> str:
    return next(str(tree[keyword]) for keyword in draft.references if keyword in tree)


_ASSERTIONS = frozenset(("allOf", "anyOf", "const", "else", "enum", "if", "not", "oneOf", "then", "type"))


class _Chains:
    """Chains of references must end, and soon, at a schema that says something. Each is followed once."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lengths: dict[int, int] = {}
        """References from a schema to the end of its chain, by the schema's identity."""

    def check(self, tree: Tree, document: Document, path: Path) -> None:
        chain: list[Tree] = []
        while id(tree) not in self._lengths and is_reference_alone(tree, document.draft):
            chain.append(tree)
            if len(chain) >= CHAIN_MAX:
                break
            tree, document = self._library.resolve(reference_of(tree, document.draft), document, path)
        length = self._lengths.get(id(tree), 0)
        for one in reversed(chain):
            length += 1
            self._lengths[id(one)] = length
        if length >= CHAIN_MAX:
            raise SchemaError(
                f"The $ref at '{shown(path)}' leads back to itself, or through more than {CHAIN_MAX} others. "
                "Let it lead to a schema."
            )
