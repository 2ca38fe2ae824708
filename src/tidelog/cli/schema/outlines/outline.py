"""An outline of a schema: fields by path, in the order of the text, and the differences of two outlines."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

Attributes: TypeAlias = Mapping[str, str]
"""`type` first, then what else matters, such as `default`; as text for people."""

Outline: TypeAlias = Mapping[str, Attributes]
"""By path, such as `customer.address.zip`."""

IDENTITY = "number"
"""An attribute that names a field whatever its name is: Protobuf's field number."""


class Change(NamedTuple):
    """A field that was added (no `before`), removed (no `after`), renamed, or changed in some attributes."""

    path: str
    before: Attributes | None
    after: Attributes | None
    renamed_from: str | None = None

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "renamed" if self.renamed_from else "changed"

    def changed(self) -> list[tuple[str, str | None, str | None]]:
        """Attributes that differ, with what they were and are."""
        before, after = self.before or {}, self.after or {}
        return [
            (name, before.get(name), after.get(name))
            for name in dict.fromkeys([*before, *after])
            if before.get(name) != after.get(name)
        ]


def differences(old: Outline, new: Outline) -> list[Change]:
    """In the order of the new schema; removed fields come last, in the order of the old."""
    renames = _renames(old, new)
    changes = []
    for path, after in new.items():
        origin = renames.get(path, path)
        before = old.get(origin)
        if before is None:
            changes.append(Change(path, None, after))
        elif origin != path or dict(before) != dict(after):
            changes.append(Change(path, before, after, origin if origin != path else None))
    origins = set(renames.values())
    gone = [path for path in old if path not in new and path not in origins]
    return changes + [Change(path, old[path], None) for path in gone]


def _renames(old: Outline, new: Outline) -> dict[str, str]:
    """New paths to old ones: the same number, or the old name among the aliases."""
    gone = {path for path in old if path not in new}
    by_number = {(_parent(path), old[path].get(IDENTITY)): path for path in gone if IDENTITY in old[path]}
    found: dict[str, str] = {}
    for path, attributes in new.items():
        if path in old:
            continue
        origin = by_number.get((_parent(path), attributes.get(IDENTITY)))
        for alias in attributes.get("aliases", "").split(", "):
            aliased = ".".join(filter(None, (_parent(path), alias)))
            if alias and aliased in gone:
                origin = aliased
        if origin is not None and origin not in found.values():
            found[path] = origin
    return found


def _parent(path: str) -> str:
    return path.rpartition(".")[0]
