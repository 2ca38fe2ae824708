"""The documents that a schema can refer to: itself and its dependencies, found by name, `$id` and anchor.

Nothing is fetched: a `$ref` to any other address is an error that says how to register what it names.
"""

from typing import Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from tidelog.registry.json_schema.drafts import Draft, draft_of
from tidelog.registry.json_schema.json_text import Tree, read
from tidelog.registry.json_schema.paths import Path, shortened, shown
from tidelog.registry.json_schema.subschemas import subschemas
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Dependencies

ADDRESS_CHARS_MAX: Final = 2048
"""Of the address of one schema, which schemas inside it may repeat."""
ADDRESSES_CHARS_MAX: Final = 4 * 1024 * 1024
"""Of the addresses of a schema, of those inside it, and of its dependencies."""


class Document(NamedTuple):
    tree: Tree
    draft: Draft
    base: str
    """The address against which references are resolved: of the nearest `$id` around, or the name."""


class Library:
    def __init__(self, root: Tree, dependencies: Dependencies) -> None:
        self._by_address: dict[str, Document] = {}
        self._address_chars = 0
        self._anchors: dict[tuple[str, str], Document] = {}
        self._around: dict[int, Document] = {}
        """By the identity of a subschema: the document that it lies in. `_by_address` keeps them alive."""
        self._resolved: dict[tuple[str, str], tuple[Tree, Document]] = {}
        """By the base and the reference."""
        self.root = self._add(root, "")
        for dependency in dependencies:
            tree = read(dependency.text, f"The referenced schema {dependency.name!r}")
            document = self._add(tree, join(self.root.base, dependency.name))
            for address in (dependency.name, dependency.name.removeprefix("./")):
                self._by_address.setdefault(address, document)

    def document_of(self, tree: Tree, otherwise: Document) -> Document:
        """Returns the document in which `tree` lies, or `otherwise` where no keyword leads to it."""
        return self._around.get(id(tree), otherwise)

    def resolve(self, reference: str, document: Document, where: Path) -> tuple[Tree, Document]:
        """Returns the schema that a `$ref` inside `document` names. Raises SchemaError without one."""
        key = document.base, reference
        found = self._resolved.get(key)
        if found is None:
            found = self._resolved[key] = self._found(reference, document, where)
        return found

    def _found(self, reference: str, document: Document, where: Path) -> tuple[Tree, Document]:
        address, fragment = urldefrag(join(document.base, reference))
        plain = urldefrag(reference)[0]
        target = self._by_address.get(address) or self._by_address.get(plain.removeprefix("./"))
        if target is None:
            raise SchemaError(
                f"The $ref {shortened(reference)!r} at '{shown(where)}' names a schema that is not known. "
                "Schemas are never fetched from the network: register it, and list it in 'references' with "
                "exactly this name."
            )
        if not fragment:
            return target.tree, target
        anchored = self._anchors.get((target.base, fragment))
        if anchored is not None:
            return anchored.tree, self.document_of(anchored.tree, target)
        tree, within = self._pointed(target, unquote(fragment))
        if not isinstance(tree, dict | bool):
            raise SchemaError(
                f"The $ref {shortened(reference)!r} at '{shown(where)}' points to no schema. Correct it, or "
                "add the definition."
            )
        return tree, within

    def _add(self, root: Tree, name: str) -> Document:
        draft = draft_of(root)
        document = Document(root, draft, self._base(root, draft, name))
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
        document = Document(tree, around.draft, self._base(tree, around.draft, around.base))
        self._by_address.setdefault(document.base, document)
        return document

    def _base(self, tree: Tree, draft: Draft, name: str) -> str:
        identity = tree.get(draft.id_keyword) if isinstance(tree, dict) else None
        base = urldefrag(join(name, identity))[0] if isinstance(identity, str) else name
        self._address_chars += len(base)
        if len(base) > ADDRESS_CHARS_MAX or self._address_chars > ADDRESSES_CHARS_MAX:
            raise SchemaError(
                f"The address of a schema, '{shortened(base)}', has more than {ADDRESS_CHARS_MAX} "
                f"characters, or all addresses together have more than {ADDRESSES_CHARS_MAX}. "
                f"Shorten {draft.id_keyword}."
            )
        return base

    def _pointed(self, document: Document, pointer: str) -> tuple[Tree, Document]:
        """Returns what a JSON pointer leads to, None where that is nothing, and the document it lies in."""
        tree = document.tree
        if not pointer.startswith("/"):
            return None, document
        for step in pointer[1:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(tree, dict):
                tree = tree.get(name)
            elif isinstance(tree, list) and name.isascii() and name.isdecimal() and len(name) < 10:
                tree = tree[int(name)] if int(name) < len(tree) else None
            else:
                return None, document
            document = self.document_of(tree, document)
        return tree, document


def join(base: str, reference: str) -> str:
    """Python joins no addresses of schemes that it does not know (urn:), so fragments go by hand."""
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:  # such as a bad IPv6 address
        return reference
