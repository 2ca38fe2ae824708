"""Digests of trees: equal for equal values, whatever the order of their keys, and each part is read once.

Python's own equality would not do: for it, true, 1 and 1.0 are the same.
"""

from hashlib import blake2b

from tidelog.registry.json_schema.json_text import Tree, write

_BYTES = 16


class Digests:
    """Remembers by identity, so it lives no longer than the trees it has seen."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def of(self, tree: Tree) -> bytes:
        if not isinstance(tree, dict | list):
            return blake2b(b"v" + write(tree).encode(), digest_size=_BYTES).digest()
        known = self._known.get(id(tree))
        if known is not None:
            return known
        digest = blake2b(b"o" if isinstance(tree, dict) else b"a", digest_size=_BYTES)
        for key in sorted(tree) if isinstance(tree, dict) else range(len(tree)):
            if isinstance(key, str):
                digest.update(self.of(key))
            digest.update(self.of(tree[key]))
        known = self._known[id(tree)] = digest.digest()
        return known
