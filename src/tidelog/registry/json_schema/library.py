"""The documents that a schema can refer to: itself and its dependencies, found by name, `$id` and anchor.

Nothing is fetched: a `$ref` to any other address is an error that says how to register what it names.
"""

from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from tidelog.registry.json_schema.drafts import Draft, draft_of
from tidelog.registry.json_schema.json_text import Tree, read
from tidelog.registry.json_schema.subschemas import subschemas
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependencies


class Document(NamedTuple):
    tree: Tree
    draft: Draft
    base: str
    """The address against which references are resolved: of the nearest `$id` around, or the name."""


class Library:
    def __init__(self, root: Tree, dependencies: Dependencies) -> None:
        self._by_address: dict[str, Document] = {}
        self._anchors: dict[tuple[str, str], Document] = {}
        self._around: dict[int, Document] = {}
        """By the identity of a subschema: the document that it lies in. `_by_address` keeps them alive."""
        self.root = self._add(root, "")
        for dependency in dependencies:
            tree = read(dependency.text, f"The referenced schema {dependency.name!r}")
            document = self._add(tree, join(self.root.base, dependency.name))
            for address in (dependency.name, dependency.name.removeprefix("./")):
                self._by_address.setdefault(address, document)

    def document_of(self, tree: Tree, otherwise: Document) -> Document:
        """Returns the document in which `tree` lies, or `otherwise` where no keyword leads to it."""
        return self._around.get(id(tree), otherwise)

    def resolve(self, reference: str, document: Document, where: str) -> tuple[Tree, Document]:
        """Returns the schema that a `$ref` inside `document` names. Raises SchemaError without one."""
        address, fragment = urldefrag(join(document.base, reference))
        plain = urldefrag(reference)[0]
        target = self._by_address.get(address) or self._by_address.get(plain.removeprefix("./"))
        if target is None:
            raise SchemaError(
                f"The $ref {reference!r} at '{where}' names a schema that is not known. Schemas are never "
                "fetched from the network: register it, and list it in 'references' with exactly this name."
            )
        if not fragment:
            return target.tree, target
        anchored = self._anchors.get((target.base, fragment))
        if anchored is not None:
            return anchored.tree, self.document_of(anchored.tree, target)
        tree = _pointed(target.tree, unquote(fragment))
        if not isinstance(tree, dict | bool):
            raise SchemaError(
                f"The $ref {reference!r} at '{where}' points to no schema. Correct it, or add the definition."
            )
        return tree, self.document_of(tree, target)

    def _add(self, root: Tree, name: str) -> Document:
        draft = draft_of(root)
        document = Document(root, draft, _base(root, draft, name))
        for address in (name, document.base):
            self._by_address.setdefault(address, document)
        waiting = [(root, document)]
        while waiting:
            tree, around = waiting.pop()
            if not isinstance(tree, dict):
                continue
            if tree is not root:
                around = self._embedded(tree, around)
            self._around[id(tree)] = around
            for keyword in ("$anchor", "$dynamicAnchor"):
                if isinstance(anchor := tree.get(keyword), str):
                    self._anchors.setdefault((around.base, anchor), Document(tree, draft, around.base))
            waiting += [(inner.tree, around) for inner in subschemas(tree)]
        return document

    def _embedded(self, tree: dict[str, Tree], around: Document) -> Document:
        """A subschema with an `$id` is a document in a document. To draft 7, `"#name"` is an anchor."""
        identity = tree.get(around.draft.id_keyword)
        if not isinstance(identity, str) or ("$ref" in tree and not around.draft.composes):
            return around
        if identity.startswith("#"):
            self._anchors.setdefault((around.base, identity[1:]), Document(tree, around.draft, around.base))
            return around
        document = Document(tree, around.draft, _base(tree, around.draft, around.base))
        self._by_address.setdefault(document.base, document)
        return document


def join(base: str, reference: str) -> str:
    """Python joins no addresses of schemes that it does not know (urn:), so fragments go by hand."""
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:  # such as a bad IPv6 address
        return reference


def _base(tree: Tree, draft: Draft, name: str) -> str:
    identity = tree.get(draft.id_keyword) if isinstance(tree, dict) else None
    return urldefrag(join(name, identity))[0] if isinstance(identity, str) else name


def _pointed(tree: Tree, pointer: str) -> Tree:
    """Returns what a JSON pointer leads to, None where that is nothing."""
    if not pointer.startswith("/"):
        return None
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(tree, dict):
            tree = tree.get(name)
        elif isinstance(tree, list) and name.isascii() and name.isdecimal() and len(name) < 10:
            tree = tree[int(name)] if int(name) < len(tree) else None
        else:
            return None
    return tree
