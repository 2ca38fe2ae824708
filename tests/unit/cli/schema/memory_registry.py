"""A registry in memory that answers as `RegistryClient` does, for commands that read and move schemas."""

from typing import Any

from tidelog.blocking.registry.answers import Version
from tidelog.blocking.registry.client import LATEST
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.blocking.registry.options import RegistryOptions
from tidelog.registry.schema import Schema, SchemaType
from tidelog.registry.subjects import qualified

IMPORT = "IMPORT"


def avro(text: str = '"string"') -> Schema:
    return Schema(SchemaType.AVRO, text)


class MemoryRegistry:
    def __init__(self) -> None:
        self.options = RegistryOptions(("http://memory:8081",))
        self.stored: dict[tuple[str, int], Version] = {}
        self.hidden: set[tuple[str, int]] = set()
        self.configs: dict[str | None, dict[str, Any]] = {None: {"compatibilityLevel": "BACKWARD"}}
        self.modes: dict[str | None, str] = {None: "READWRITE"}
        self.registered: list[tuple[str, int, int]] = []
        self.fails_at: tuple[str, int] | None = None

    def add(self, subject: str, version: int, id: int, schema: Schema) -> "MemoryRegistry":
        self.stored[subject, version] = Version(subject, version, id, schema)
        return self

    def subjects(self, *, prefix: str | None = None, deleted: bool = False) -> list[str]:
        wanted = "" if prefix in (None, ":*:") else prefix or ""
        places = [place for place in self.stored if deleted or place not in self.hidden]
        return sorted({subject for subject, _ in places if subject.startswith(wanted)})

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        found = [
            place[1] for place in self.stored if place[0] == subject and (deleted or place not in self.hidden)
        ]
        if not found:
            raise RegistryRefused(404, 40401, f"Subject '{subject}' not found.")
        return sorted(found)

    def version(self, subject: str, version: int | str = LATEST, *, deleted: bool = False) -> Version:
        number = self.versions(subject, deleted=deleted)[-1] if version == LATEST else int(version)
        if (subject, number) not in self.stored or ((subject, number) in self.hidden and not deleted):
            raise RegistryRefused(404, 40402, f"Version {number} not found.")
        return self.stored[subject, number]

    def schema(self, key: int, *, subject: str | None = None) -> Schema:
        for one in self.stored.values():
            if one.id == key:
                return one.schema
        raise RegistryRefused(404, 40403, "Schema not found")

    def lookup(self, subject: str, schema: Schema, **_: Any) -> Version | None:
        same = (one for (name, _), one in self.stored.items() if name == subject and one.schema == schema)
        return next(same, None)

    def register(
        self, subject: str, schema: Schema, *, id: int | None = None, version: int | None = None, **_: Any
    ) -> int:
        if (subject, version) == self.fails_at:
            raise RegistryRefused(422, 42201, "broken")
        if id is None or version is None:
            taken = [number for name, number in self.stored if name == subject]
            id, version = len(self.stored) + 1, max(taken, default=0) + 1
        else:
            assert self.mode(subject, default_to_global=True) == IMPORT
        for reference in schema.references:
            assert (qualified(reference.subject, subject), reference.version) in self.stored
        self.registered.append((subject, version, id))
        self.add(subject, version, id, schema)
        return id

    def delete_version(self, subject: str, version: int | str, *, permanent: bool = False) -> int:
        self.hidden.add((subject, int(version)))
        return int(version)

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Any:
        return self.configs.get(subject, self.configs[None] if default_to_global else None)

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str | None:
        return self.modes.get(subject, self.modes[None] if default_to_global else None)

    def set_config(self, subject: str | None, config: dict[str, Any]) -> None:
        self.configs[subject] = {"compatibilityLevel": config["compatibility"]}

    def set_mode(self, subject: str | None, mode: str, *, force: bool = False) -> None:
        if mode == IMPORT and any(name == subject for name, _ in self.stored):
            assert force
        self.modes[subject] = mode

    def delete_mode(self, subject: str) -> None:
        del self.modes[subject]

    def dependencies(self, schema: Schema, subject: str | None) -> tuple[()]:
        return ()
