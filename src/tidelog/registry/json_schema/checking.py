"""Checks a whole schema: every keyword in it, and every schema that a `$ref` in it leads to.

A walk with a list of its own, so that no depth and no cycle of references costs Python's stack.
"""

from typing import Any, Final, NamedTuple

from tidelog.registry.json_schema.drafts import NUMBERS, Draft
from tidelog.registry.json_schema.json_text import Tree
from tidelog.registry.json_schema.keywords import check_keywords, is_schema
from tidelog.registry.json_schema.library import Document, Library
from tidelog.registry.json_schema.subschemas import subschemas
from tidelog.registry.parsed import SchemaError

CHAIN_MAX: Final = 100


class _Place(NamedTuple):
    tree: Tree
    document: Document
    pointer: str


def check(library: Library) -> None:
    """Raises SchemaError for the first keyword, and the first reference, that cannot be understood."""
    root = library.root
    if not is_schema(root.tree):
        raise SchemaError("A JSON schema is an object, true or false. Send such a text, or another type.")
    seen: set[int] = set()
    waiting = [_Place(root.tree, root, "#")]
    while waiting:
        tree, document, pointer = waiting.pop()
        if not isinstance(tree, dict) or id(tree) in seen:
            continue
        seen.add(id(tree))
        check_keywords(tree, document.draft, pointer)
        for inner in subschemas(tree):
            within = library.document_of(inner.tree, document)
            waiting.append(_Place(inner.tree, within, f"{pointer}/{inner.pointer}"))
        for keyword in document.draft.references:
            if keyword in tree:
                target, within = library.resolve(tree[keyword], document, pointer)
                _check_chain(library, tree, document, pointer)
                waiting.append(_Place(target, within, tree[keyword]))


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


def _check_chain(library: Library, tree: Tree, document: Document, pointer: str) -> None:
    """A chain of references must end, and soon, at a schema that says something."""
    for _ in range(CHAIN_MAX):
        if not is_reference_alone(tree, document.draft):
            return
        tree, document = library.resolve(reference_of(tree, document.draft), document, pointer)
    raise SchemaError(
        f"The $ref at '{pointer}' leads back to itself, or through more than {CHAIN_MAX} others. "
        "Let it lead to a schema."
    )
