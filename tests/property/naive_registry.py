"""A registry as one would explain it: a list of versions, and nothing that is kept twice.

It decides on the same requests as `tidelog.registry.state`, by looking through everything each time.
"""

from dataclasses import dataclass, field

from tidelog.registry.errors import RegistryCode as Code
from tidelog.registry.mode import Mode


@dataclass
class NaiveVersion:
    subject: str
    version: int
    id: int
    text: str
    reference: tuple[str, int] | None
    deleted: bool = False


@dataclass
class NaiveRegistry:
    versions: list[NaiveVersion] = field(default_factory=list)
    given: dict[str, int] = field(default_factory=dict)
    """The highest id of each context."""
    modes: dict[str | None, Mode] = field(default_factory=dict)
    configs: dict[str | None, dict] = field(default_factory=dict)

    def register(self, subject, text, reference, schema_id=None, version=None):
        mode = self.mode(subject)
        if mode is Mode.READONLY or (schema_id is not None and mode is Mode.READWRITE):
            return Code.OPERATION_NOT_PERMITTED
        if reference is not None:
            reference = (_qualified(reference[0], subject), reference[1])
            target = self.find(*reference)
            if target is None or (target.deleted and mode is not Mode.IMPORT):
                return Code.INVALID_SCHEMA
        own = self.of(subject)
        same = [one for one in own if (one.text, one.reference) == (text, reference) and not one.deleted]
        newest = max(same, key=lambda one: one.version, default=None)
        if version is None and newest is not None and schema_id in (None, newest.id):
            return newest.id, newest.version
        if schema_id is None and mode is Mode.IMPORT:
            return Code.OPERATION_NOT_PERMITTED
        context = _context(subject)
        everywhere = [one for one in self.versions if _context(one.subject) == context]
        if schema_id is None:
            known = [one.id for one in everywhere if (one.text, one.reference) == (text, reference)]
            schema_id = min(known, default=self.given.get(context, 0) + 1)
        elif any(
            one.id == schema_id and (one.text, one.reference) != (text, reference) for one in everywhere
        ):
            return Code.OPERATION_NOT_PERMITTED
        version = version or max((one.version for one in own), default=0) + 1
        before = self.find(subject, version)
        if before is not None:
            if (before.id, before.text, before.reference) != (schema_id, text, reference):
                return Code.OPERATION_NOT_PERMITTED
            if not before.deleted:
                return before.id, before.version
            self.versions.remove(before)
        for one in own:
            if one.deleted and one.id == schema_id and one.version < version and not self.referring(one):
                self.versions.remove(one)
        self.versions.append(NaiveVersion(subject, version, schema_id, text, reference))
        self.given[context] = max(self.given.get(context, 0), schema_id)
        return schema_id, version

    def delete_version(self, subject, version, permanent):
        stored = self.find(subject, version)
        if stored is None:
            return Code.VERSION_NOT_FOUND if self.of(subject) else Code.SUBJECT_NOT_FOUND
        if stored.deleted and not permanent:
            return Code.VERSION_SOFT_DELETED
        if self.mode(subject) is Mode.READONLY:
            return Code.OPERATION_NOT_PERMITTED
        if any(permanent or not one.deleted for one in self.referring(stored)):
            return Code.REFERENCE_EXISTS
        if permanent and not stored.deleted:
            return Code.VERSION_NOT_SOFT_DELETED
        stored.deleted = True
        if permanent:
            self._forget(stored)
        return version

    def delete_subject(self, subject, permanent):
        own = sorted(self.of(subject), key=lambda one: one.version)
        if not own:
            return Code.SUBJECT_NOT_FOUND
        if not permanent and all(one.deleted for one in own):
            return Code.SUBJECT_SOFT_DELETED
        if self.mode(subject) is Mode.READONLY:
            return Code.OPERATION_NOT_PERMITTED
        touched = [one for one in own if permanent or not one.deleted]
        for one in touched:
            others = [other for other in self.referring(one) if other.subject != subject]
            if any(permanent or not other.deleted for other in others):
                return Code.REFERENCE_EXISTS
            if permanent and not one.deleted:
                return Code.SUBJECT_NOT_SOFT_DELETED
        for one in touched:
            one.deleted = True
            if permanent:
                self._forget(one)
        return [one.version for one in touched]

    def change_mode(self, scope, mode, force):
        if mode is Mode.IMPORT and self.mode(scope) is not Mode.IMPORT and not force:
            touched = [one for one in self.versions if scope in (None, one.subject)]
            if any(not one.deleted for one in touched):
                return Code.OPERATION_NOT_PERMITTED
            if any(self.referring(one) for one in touched):
                return Code.REFERENCE_EXISTS
            for one in touched:
                self.versions.remove(one)
        self.modes[scope] = mode
        return mode

    def delete_mode(self, scope):
        return self.modes.pop(scope, None)

    def change_config(self, scope, changes):
        if self.mode(scope) is Mode.READONLY:
            return Code.OPERATION_NOT_PERMITTED
        self.configs[scope] = self.configs.get(scope, {}) | changes
        return self.configs[scope]

    def delete_config(self, scope):
        if self.mode(scope) is Mode.READONLY:
            return Code.OPERATION_NOT_PERMITTED
        return self.configs.pop(scope, None)

    # What it knows

    def of(self, subject):
        return [one for one in self.versions if one.subject == subject]

    def find(self, subject, version):
        return next((one for one in self.of(subject) if one.version == version), None)

    def referring(self, stored):
        return [one for one in self.versions if one.reference == (stored.subject, stored.version)]

    def mode(self, scope):
        scopes = [scope] if scope is None or scope.startswith(":") else [scope, None]
        return next((self.modes[one] for one in scopes if one in self.modes), Mode.READWRITE)

    def _forget(self, stored):
        self.versions.remove(stored)
        if not self.of(stored.subject):
            self.modes.pop(stored.subject, None)
            self.configs.pop(stored.subject, None)


def _context(subject):
    return subject.split(":")[1] if subject.startswith(":") else "."


def _qualified(subject, parent):
    return f":{_context(parent)}:{subject}" if parent.startswith(":") else subject
