"""A registry in memory, behind the client's own calls: subjects, versions and ids, and what was asked."""

from typing import Any

from tidelog.blocking.registry.errors import RegistryRefused, RegistryUnavailable
from tidelog.blocking.registry.options import options_of_url
from tidelog.registry.parsed import parse
from tidelog.registry.schema import Schema, SchemaType

OPTIONS = options_of_url("http://registry:8081")


class FakeRegistry:
    """Takes the place of RegistryCalls."""

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[str, dict[int, int]] = {}
        """Ids by version."""
        self.deleted: set[tuple[str, int]] = set()
        self.asked: list[tuple[Any, ...]] = []
        self.is_down = False

    def add(
        self, subject: str, text: str, kind: str = "AVRO", references: tuple[dict[str, Any], ...] = ()
    ) -> int:
        """The id of a new version."""
        body = {"schema": text, "schemaType": kind, "references": list(references)}
        known = [number for number, schema in self.schemas.items() if schema == body]
        schema_id = known[0] if known else len(self.schemas) + 1
        self.schemas[schema_id] = body
        versions = self.subjects.setdefault(subject, {})
        if schema_id not in versions.values():
            versions[len(versions) + 1] = schema_id
        return schema_id

    def get(self, *path: Any, **query: Any) -> Any:
        self.asked.append(path)
        if self.is_down:
            raise RegistryUnavailable("no schema registry answers (http://registry:8081: nothing listens)")
        match path:
            case ("schemas", "ids", int(number)) if number in self.schemas:
                return self.schemas[number]
            case ("schemas", "ids", int(number), "versions"):
                found = [
                    {"subject": subject, "version": version}
                    for subject, versions in self.subjects.items()
                    for version, schema_id in versions.items()
                    if schema_id == number
                    if query.get("deleted") or (subject, version) not in self.deleted
                    if _context(subject) == _context(query.get("subject") or "")
                ]
                if found:
                    return found
            case ("subjects", subject, "versions", wanted) if subject in self.subjects:
                versions = {
                    version: schema_id
                    for version, schema_id in self.subjects[subject].items()
                    if query.get("deleted") or (subject, version) not in self.deleted
                }
                version = max(versions) if wanted == "latest" else wanted
                if version in versions:
                    schema_id = versions[version]
                    own = {"subject": subject, "version": version, "id": schema_id}
                    return own | self.schemas[schema_id]
        raise RegistryRefused(404, 40403, "not found")

    def post(self, *path: Any, body: Any, **_: Any) -> Any:
        self.asked.append(path)
        if self.is_down:
            raise RegistryUnavailable("no schema registry answers (http://registry:8081: nothing listens)")
        text, kind = body["schema"], body.get("schemaType", "AVRO")
        match path:
            case ("subjects", subject, "versions"):
                if not self._is_compatible(subject, text, kind):
                    raise RegistryRefused(409, 409, "it is not compatible")
                return {"id": self.add(subject, text, kind)}
            case ("subjects", subject):
                for version, schema_id in self.subjects.get(subject, {}).items():
                    if self.schemas[schema_id]["schema"] == text:
                        return {"subject": subject, "version": version, "id": schema_id, **body}
                raise RegistryRefused(404, 40403, "not found")
            case ("compatibility", "subjects", subject, "versions"):
                is_compatible = self._is_compatible(subject, text, kind)
                return {
                    "is_compatible": is_compatible,
                    "messages": [] if is_compatible else ["a field is gone"],
                }
        raise AssertionError(path)

    def _is_compatible(self, subject: str, text: str, kind: str) -> bool:
        versions = self.subjects.get(subject, {})
        if not versions:
            return True
        last = self.schemas[versions[max(versions)]]["schema"]
        new = parse(SchemaType(kind), text)
        return not new.incompatibilities(parse(SchemaType(kind), last))

    def schema(self, number: int) -> Schema:
        body = self.schemas[number]
        return Schema(SchemaType(body["schemaType"]), body["schema"])

    def close(self) -> None:
        pass


def _context(subject: str) -> str:
    """`:.test:orders-value` is in the context `.test`."""
    return subject.split(":")[1] if subject.startswith(":.") else ""
