"""What all records of `_schemas` add up to. `apply` is the only writer.

A replay of the log, compacted or not, builds the same state: nothing here depends on records that a later
record of the same key replaces.
"""

from bisect import insort
from dataclasses import dataclass, field
from typing import Any

from tidelog.registry import subjects
from tidelog.registry.mode import Mode
from tidelog.registry.state import records
from tidelog.registry.state.records import Key
from tidelog.registry.state.stored import Place, StoredVersion

Versions = dict[int, StoredVersion]


@dataclass(slots=True)
class ContextState:
    """The ids of a context. An id has one content, in as many subjects as it was registered under."""

    by_id: dict[int, dict[Place, StoredVersion]] = field(default_factory=dict)
    ids_of: dict[bytes, list[int]] = field(default_factory=dict)
    """By content, ascending. Only an import can give a content several ids."""
    highest_id: int = 0
    """That was ever given, also to schemas that are gone."""


@dataclass
class RegistryState:
    subjects: dict[str, Versions] = field(default_factory=dict)
    """With soft-deleted versions, in ascending order of versions."""
    contexts: dict[str, ContextState] = field(default_factory=dict)
    """Those with ids. The default context is among them once it has given an id."""
    named_contexts: set[str] = field(default_factory=set)
    """Those that a CONTEXT record names."""
    referrers: dict[Place, set[Place]] = field(default_factory=dict)
    """Which versions refer to a version, soft-deleted ones included."""
    configs: dict[str | None, dict[str, Any]] = field(default_factory=dict)
    modes: dict[str | None, Mode] = field(default_factory=dict)
    skipped: dict[str, set[int]] = field(default_factory=dict)
    """Versions of subjects that this registry cannot read: no other schema takes their numbers."""
    saved_highest_ids: dict[str, int] = field(default_factory=dict)
    """What the newest record of them says."""
    odd_keys: dict[bytes, list[bytes]] = field(default_factory=dict)
    """Other spellings of a key, by our own: a tombstone has to be written for each of them."""

    def context(self, subject: str) -> ContextState | None:
        return self.contexts.get(subjects.context_of(subject))

    def stored(self, place: Place) -> StoredVersion | None:
        return self.subjects.get(place.subject, {}).get(place.version)

    # Records

    def apply(self, raw_key: bytes, value: bytes | None) -> None:
        """UnreadableError: the record says nothing to this registry, and changes nothing. A version that
        cannot be read keeps its number and its id all the same."""
        key = records.decode_key(raw_key)
        if key is None:
            return
        self._note_spelling(key, raw_key, is_tombstone=value is None)
        if value is None:
            self._remove(key)
        else:
            self._put(key, value)

    def _put(self, key: Key, value: bytes) -> None:
        match key:
            case records.SchemaKey():
                try:
                    self._put_version(records.decode_schema(key, value))
                except records.UnreadableError:
                    self._skip(key, value)
                    raise
            case records.ConfigKey(scope):
                self.configs[scope] = records.decode_config(value)
            case records.ModeKey(scope):
                self.modes[scope] = records.decode_mode(value)
            case records.DeleteSubjectKey(subject):
                self._soft_delete(subject, records.decode_delete_subject(value))
            case records.ClearSubjectKey(scope):
                self._clear(scope)
            case records.ContextKey(_, context):
                self.named_contexts.add(context)
            case records.HighestIdsKey():
                self.saved_highest_ids = records.decode_highest_ids(value)
                for context, highest in self.saved_highest_ids.items():
                    ids = self.contexts.setdefault(context, ContextState())
                    ids.highest_id = max(ids.highest_id, highest)

    def _remove(self, key: Key) -> None:
        match key:
            case records.SchemaKey(subject, version):
                stored = self.stored(Place(subject, version))
                if stored is not None:
                    self._forget(stored)
                self._unskip(key)
            case records.ConfigKey(scope):
                self.configs.pop(scope, None)
            case records.ModeKey(scope):
                self.modes.pop(scope, None)
            case records.ContextKey(_, context):
                self.named_contexts.discard(context)
            case records.HighestIdsKey():
                self.saved_highest_ids = {}
            case records.DeleteSubjectKey() | records.ClearSubjectKey():
                pass  # what they did is done

    def _note_spelling(self, key: Key, raw_key: bytes, *, is_tombstone: bool) -> None:
        own_key = records.encode_key(key)
        if raw_key == own_key:
            return
        spellings = self.odd_keys.setdefault(own_key, [])
        if is_tombstone and raw_key in spellings:
            spellings.remove(raw_key)
        elif not is_tombstone and raw_key not in spellings:
            spellings.append(raw_key)
        if not spellings:
            del self.odd_keys[own_key]

    # Versions

    def _put_version(self, stored: StoredVersion) -> None:
        context = self.context(stored.subject) or ContextState()
        # The others are all alike, and may be thousands: the key of many topics is a plain string.
        others = context.by_id.get(stored.id, {})
        other = next((one for place, one in others.items() if place != stored.place), stored)
        if (other.schema.text, other.schema.type) != (stored.schema.text, stored.schema.type):
            raise records.UnreadableError(
                f"id {stored.id} has another schema already, so version {stored.version} of "
                f"{stored.subject} is skipped"
            )
        before = self.stored(stored.place)
        if before is not None:
            self._forget(before)
        self._unskip(records.SchemaKey(*stored.place))
        self.contexts[subjects.context_of(stored.subject)] = context
        context.highest_id = max(context.highest_id, stored.id)
        context.by_id.setdefault(stored.id, {})[stored.place] = stored
        ids = context.ids_of.setdefault(stored.content, [])
        if stored.id not in ids:
            insort(ids, stored.id)
        for reference in stored.schema.references:
            target = Place(subjects.qualified(reference.subject, stored.subject), reference.version)
            self.referrers.setdefault(target, set()).add(stored.place)
        versions = self.subjects.setdefault(stored.subject, {})
        is_newest = not versions or stored.version > next(reversed(versions))
        versions[stored.version] = stored
        if not is_newest:
            self.subjects[stored.subject] = dict(sorted(versions.items()))

    def _skip(self, key: records.SchemaKey, value: bytes) -> None:
        """Data may have the id already."""
        self.skipped.setdefault(key.subject, set()).add(key.version)
        schema_id = records.id_in(value)
        if schema_id is not None:
            context = self.contexts.setdefault(subjects.context_of(key.subject), ContextState())
            context.highest_id = max(context.highest_id, schema_id)

    def _unskip(self, key: records.SchemaKey) -> None:
        skipped = self.skipped.get(key.subject, set())
        skipped.discard(key.version)
        if not skipped:
            self.skipped.pop(key.subject, None)

    def _forget(self, stored: StoredVersion) -> None:
        versions = self.subjects[stored.subject]
        del versions[stored.version]
        if not versions:
            del self.subjects[stored.subject]
        context = self.contexts[subjects.context_of(stored.subject)]
        places = context.by_id[stored.id]
        del places[stored.place]
        if not any(other.content == stored.content for other in places.values()):
            ids = context.ids_of[stored.content]
            ids.remove(stored.id)
            if not ids:
                del context.ids_of[stored.content]
        if not places:
            del context.by_id[stored.id]
        for reference in stored.schema.references:
            target = Place(subjects.qualified(reference.subject, stored.subject), reference.version)
            referrers = self.referrers.get(target, set())
            referrers.discard(stored.place)
            if not referrers:
                self.referrers.pop(target, None)

    def _soft_delete(self, subject: str, last: int) -> None:
        for stored in self.subjects.get(subject, {}).values():
            if stored.version <= last:
                stored.deleted = True

    def _clear(self, scope: str | None) -> None:
        """Forget what is soft-deleted in a subject, a context, or everywhere."""
        name = None if scope is None else subjects.split(scope)
        gone = [
            stored
            for subject, versions in self.subjects.items()
            if name is None
            or subject == scope
            or (not name.name and subjects.context_of(subject) == name.context)
            for stored in versions.values()
            if stored.deleted
        ]
        for stored in gone:
            self._forget(stored)
