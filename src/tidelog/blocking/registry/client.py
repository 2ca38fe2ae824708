"""A blocking client of a schema registry: any that has Confluent's REST API.

Schemas by id and the versions that schemas refer to never change, so they are asked for once and kept, up to
a limit. Everything else is asked anew. A client is for one process; its options travel to others.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from tidelog.blocking.registry.answers import (
    Compatibility,
    SubjectVersion,
    Version,
    body_of,
    schema_of,
    version_of,
)
from tidelog.blocking.registry.calls import RegistryCalls
from tidelog.blocking.registry.errors import NotARegistry, RegistryRefused
from tidelog.blocking.registry.framing import SchemaKey
from tidelog.blocking.registry.lru import LruDict
from tidelog.blocking.registry.options import RegistryOptions, options_of_url
from tidelog.registry.schema import Dependency, Schema
from tidelog.registry.subjects import qualified, split

LATEST = "latest"
PAGE_VERSIONS = 1000
ID_MAX = 2**31 - 1
"""Records of other bytes seem to have greater ones, which are no path of a registry."""
DEPENDENCIES_MAX = 1000
"""More than any schema has: a bound for a registry that refers in circles."""

T = TypeVar("T")


class RegistryClient:
    def __init__(self, registry: RegistryOptions | str, *, calls: RegistryCalls | None = None) -> None:
        """`registry`: options, or URLs with commas between them."""
        self.options = options_of_url(registry) if isinstance(registry, str) else registry
        self._calls = calls or RegistryCalls(self.options)
        size_max = self.options.cached_schemas_max
        self._by_key: LruDict[tuple[SchemaKey, str | None], Schema] = LruDict(size_max)
        self._by_version: LruDict[tuple[str, int], Version] = LruDict(size_max)

    # Schemas

    def schema(self, key: SchemaKey, *, subject: str | None = None) -> Schema:
        """By id or GUID. `subject` names the context that an id belongs to, where it is not the default."""
        place = (key, subject)
        if (known := self._by_key.get(place)) is not None:
            return known
        if isinstance(key, int) and key > ID_MAX:
            raise RegistryRefused(404, 40403, f"Schema {key} not found")
        kind = "ids" if isinstance(key, int) else "guids"
        found = read(schema_of, self._calls.get("schemas", kind, key, subject=subject))
        return self._by_key.put(place, found)

    def versions_of_id(
        self, schema_id: int, *, subject: str | None = None, deleted: bool = False
    ) -> list[SubjectVersion]:
        """`subject` names the context of the id, as for `schema`; some registries answer for it alone."""
        answer = self._calls.get("schemas", "ids", schema_id, "versions", subject=subject, deleted=deleted)
        return read(lambda body: [SubjectVersion(one["subject"], one["version"]) for one in body], answer)

    def dependencies(self, schema: Schema, subject: str | None) -> tuple[Dependency, ...]:
        """What the schema refers to, and what that refers to: a dependency before its dependents.

        References that name no context mean that of `subject`, which the schema belongs to.
        """
        found: dict[str, Dependency] = {}
        self._collect(schema, subject or "", found, set())
        return tuple(found.values())

    def _collect(self, schema: Schema, parent: str, found: dict[str, Dependency], begun: set[str]) -> None:
        for name, own, version in schema.references:
            if name in begun:
                continue
            begun.add(name)
            if len(begun) > DEPENDENCIES_MAX:
                raise NotARegistry(f"a schema refers to more than {DEPENDENCIES_MAX} others")
            subject = qualified(own, parent)
            referred = self._referred(subject, version).schema
            self._collect(referred, subject, found, begun)
            found[name] = Dependency(name, referred.text)

    def _referred(self, subject: str, version: int) -> Version:
        if (known := self._by_version.get((subject, version))) is not None:
            return known
        # A version may be deleted while schemas still refer to it.
        return self._by_version.put((subject, version), self.version(subject, version, deleted=True))

    # Subjects

    def subjects(self, *, prefix: str | None = None, deleted: bool = False) -> list[str]:
        """`deleted`: soft-deleted ones too. `prefix` `:*:` lists those of every context."""
        return read(list, self._calls.get("subjects", subjectPrefix=prefix, deleted=deleted))

    def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        return read(list, self._calls.get("subjects", subject, "versions", deleted=deleted))

    def version(
        self, subject: str, version: int | str = LATEST, *, deleted: bool = False, format: str | None = None
    ) -> Version:
        """Raises RegistryRefused, too, where the version is in another context alone; see `_is_elsewhere`."""
        answer = self._calls.get("subjects", subject, "versions", version, deleted=deleted, format=format)
        found = read(version_of, answer)
        if self._is_elsewhere(subject, found):
            raise RegistryRefused(
                404, 40402, f"Version {version} not found. '{found.subject}' has it, in another context."
            )
        return found

    def all_versions(self, *, prefix: str | None = None, deleted: bool = False) -> list[Version]:
        """Every version of every subject that begins with the prefix, a page at a time."""
        found: dict[SubjectVersion, Version] = {}
        while True:
            page = read(
                lambda body: [version_of(one) for one in body],
                self._calls.get(
                    "schemas", subjectPrefix=prefix, deleted=deleted, offset=len(found), limit=PAGE_VERSIONS
                ),
            )
            known = len(found)
            found |= {SubjectVersion(one.subject, one.version): one for one in page}
            # A registry without pages answers with all of them, each time.
            if len(page) != PAGE_VERSIONS or len(found) == known:
                return list(found.values())

    def referenced_by(self, subject: str, version: int | str) -> list[int]:
        """The ids of the schemas that refer to this version."""
        return read(list, self._calls.get("subjects", subject, "versions", version, "referencedby"))

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> Version | None:
        """The version of the subject with this content; None where there is none."""
        try:
            answer = self._calls.post(
                "subjects", subject, body=body_of(schema), normalize=normalize, deleted=deleted
            )
        except RegistryRefused as refusal:
            if refusal.is_not_found:
                return None
            raise
        fields = {"schemaType": schema.type.value, **answer}  # some registries leave the type out
        found = read(version_of, fields)
        return None if self._is_elsewhere(subject, found) else found

    def _is_elsewhere(self, subject: str, found: Version) -> bool:
        """Whether a version is of the same subject in another context, where registries look, too.

        Its id means another schema in the context of `subject`: a consumer could not read records with it.
        """
        if any("/contexts/" in urlsplit(url).path for url in self.options.urls):
            return False  # names without a context are those of the URL's
        own, other = split(subject), split(found.subject)
        return own.name == other.name and own.context != other.context

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        id: int | None = None,
        version: int | None = None,
    ) -> int:
        """Returns the schema's id. With `id` and `version` the subject must be in mode IMPORT."""
        body = body_of(schema)
        if id is not None:
            body["id"] = id
        if version is not None:
            body["version"] = version
        answer = self._calls.post("subjects", subject, "versions", body=body, normalize=normalize)
        return read(lambda fields: int(fields["id"]), answer)

    def delete_version(self, subject: str, version: int | str, *, permanent: bool = False) -> int:
        return read(int, self._calls.delete("subjects", subject, "versions", version, permanent=permanent))

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        return read(list, self._calls.delete("subjects", subject, permanent=permanent))

    # Compatibility, modes, contexts

    def check(
        self, subject: str, schema: Schema, version: int | str | None = LATEST, *, normalize: bool = False
    ) -> Compatibility:
        """Against one version, by the subject's level; None: against those that the level names."""
        last: tuple[str | int, ...] = () if version is None else (version,)
        answer = self._calls.post(
            "compatibility", "subjects", subject, "versions", *last,
            body=body_of(schema), verbose=True, normalize=normalize,
        )  # fmt: skip
        return read(
            lambda body: Compatibility(bool(body["is_compatible"]), tuple(body.get("messages") or ())), answer
        )

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> dict[str, Any] | None:
        """None where a subject, or the context of the URL, has no config of its own. The level is
        `compatibilityLevel`."""
        return self._of_subject("config", subject, default_to_global)

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str | None:
        """None where a subject, or the context of the URL, has no mode of its own."""
        found = self._of_subject("mode", subject, default_to_global)
        return None if found is None else str(found.get("mode"))

    def _of_subject(self, what: str, subject: str | None, default_to_global: bool) -> dict[str, Any] | None:
        path = (what,) if subject is None else (what, subject)
        try:
            return read(dict, self._calls.get(*path, defaultToGlobal=default_to_global))
        except RegistryRefused as refusal:
            if refusal.is_not_found:
                return None
            raise

    def set_config(self, subject: str | None, config: Mapping[str, Any]) -> None:
        """`{"compatibility": "FULL"}`, and what else Confluent's API takes."""
        self._calls.put(*(("config",) if subject is None else ("config", subject)), body=dict(config))

    def set_mode(self, subject: str | None, mode: str, *, force: bool = False) -> None:
        path = ("mode",) if subject is None else ("mode", subject)
        self._calls.put(*path, body={"mode": mode}, force=force)

    def delete_mode(self, subject: str) -> None:
        self._calls.delete("mode", subject)

    def contexts(self) -> list[str]:
        return read(list, self._calls.get("contexts"))

    # Ending

    def close(self) -> None:
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read(reader: Callable[[Any], T], answer: Any) -> T:
    """An answer of another shape than a registry's is no bug of ours."""
    try:
        return reader(answer)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotARegistry(
            f"the registry's answer is not of the expected form ({error!r}): {str(answer)[:200]}"
        ) from error
