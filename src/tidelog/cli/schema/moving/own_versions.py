"""Versions that subjects have themselves: the path of a subject that is an alias leads to another subject.

The list of schemas alone names every version by its own subject.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidelog.cli.schema.moving.exported import Place
from tidelog.cli.schema.versions import versions_there
from tidelog.registry.subjects import split

if TYPE_CHECKING:
    from tidelog.blocking.registry.answers import Version
    from tidelog.blocking.registry.client import RegistryClient


class OwnVersions:
    def __init__(self, client: "RegistryClient") -> None:
        self._client = client
        self._configs: dict[str, Mapping[str, Any] | None] = {}
        self._lists: dict[tuple[str, bool], dict[int, Version]] = {}

    def config(self, subject: str) -> Mapping[str, Any] | None:
        """None also for the subject without a name (`""`): its path is that of all subjects."""
        if subject not in self._configs:
            self._configs[subject] = self._client.config(subject) if subject else None
        return self._configs[subject]

    def alias(self, subject: str) -> str | None:
        """Returns the subject that this one is an alias of."""
        return (self.config(subject) or {}).get("alias")

    def numbers(self, subject: str, *, deleted: bool = False) -> list[int]:
        """`deleted`: soft-deleted ones, too. Raises RegistryRefused for a subject that is unknown."""
        if self.alias(subject):
            return sorted(self._listed(subject, deleted=deleted))
        return self._client.versions(subject, deleted=deleted)

    def numbers_there(self, subject: str, *, deleted: bool = False) -> list[int]:
        """As `numbers`; empty for a subject that is unknown."""
        if self.alias(subject):
            return self.numbers(subject, deleted=deleted)
        return versions_there(self._client, subject, deleted=deleted)

    def version(self, place: Place, *, deleted: bool) -> "Version":
        if self.alias(place.subject):
            return self._listed(place.subject, deleted=deleted)[place.version]
        return self._client.version(place.subject, place.version, deleted=deleted)

    def _listed(self, subject: str, *, deleted: bool) -> dict[int, "Version"]:
        if (subject, deleted) not in self._lists:
            listed = self._client.all_versions(prefix=subject, deleted=deleted)
            # A registry below the URL of a context answers with names that have the context.
            own = (one for one in listed if split(one.subject).name == split(subject).name)
            self._lists[subject, deleted] = {one.version: one for one in own}
        return self._lists[subject, deleted]
