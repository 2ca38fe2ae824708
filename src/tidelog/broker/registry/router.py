"""The API's paths and methods, and the operation behind each."""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.broker.registry.api import (
    about,
    compatibility,
    configs,
    contexts,
    guids,
    looking_up,
    modes,
    registering,
    schemas,
    subjects,
    versions,
)
from tidelog.broker.registry.api.answers import error_answer
from tidelog.broker.registry.api.paths import Located, Template, locate
from tidelog.broker.registry.api.request import Operation, RegistryRequest
from tidelog.broker.registry.calls import Answer, Call
from tidelog.broker.registry.leading import Leading
from tidelog.registry.errors import RegistryCode, RegistryError

_VERSIONS = "/subjects/{subject}/versions"

ROUTES: tuple[tuple[str, str, Operation], ...] = (
    ("GET", "/", about.root),
    ("POST", "/", about.root),
    ("GET", "/v1/metadata/id", about.cluster),
    ("GET", "/v1/metadata/version", about.version),
    ("GET", "/v1/metadata/deployment", about.deployment),
    ("GET", "/schemas", schemas.list_schemas),
    ("GET", "/schemas/types", schemas.types),
    ("GET", "/schemas/ids/{id}", schemas.by_id),
    ("GET", "/schemas/ids/{id}/schema", schemas.text_by_id),
    ("GET", "/schemas/ids/{id}/subjects", schemas.subjects_of_id),
    ("GET", "/schemas/ids/{id}/versions", schemas.versions_of_id),
    ("GET", "/schemas/guids/{guid}", guids.by_guid),
    ("GET", "/schemas/guids/{guid}/ids", guids.ids),
    ("GET", "/subjects", subjects.list_subjects),
    ("POST", "/subjects/{subject}", looking_up.look_up),
    ("DELETE", "/subjects/{subject}", subjects.delete),
    ("GET", "/subjects/{subject}/metadata", subjects.latest_with_metadata),
    ("GET", _VERSIONS, versions.list_versions),
    ("POST", _VERSIONS, registering.register),
    ("GET", f"{_VERSIONS}/{{version}}", versions.get),
    ("DELETE", f"{_VERSIONS}/{{version}}", versions.delete),
    ("GET", f"{_VERSIONS}/{{version}}/schema", versions.text),
    ("GET", f"{_VERSIONS}/{{version}}/referencedby", versions.referenced_by),
    ("POST", f"/compatibility{_VERSIONS}", compatibility.check_subject),
    ("POST", f"/compatibility{_VERSIONS}/{{version}}", compatibility.check_version),
    ("GET", "/config", configs.get),
    ("PUT", "/config", configs.update),
    ("DELETE", "/config", configs.delete),
    ("GET", "/config/{subject}", configs.get),
    ("PUT", "/config/{subject}", configs.update),
    ("DELETE", "/config/{subject}", configs.delete),
    ("GET", "/mode", modes.get),
    ("PUT", "/mode", modes.update),
    ("DELETE", "/mode", modes.delete),
    ("GET", "/mode/{subject}", modes.get),
    ("PUT", "/mode/{subject}", modes.update),
    ("DELETE", "/mode/{subject}", modes.delete),
    ("GET", "/contexts", contexts.list_contexts),
    ("DELETE", "/contexts/{context}", contexts.delete),
)


class Found(NamedTuple):
    operation: Operation
    parameters: dict[str, str]


_BY_LENGTH: dict[int, list[tuple[str, Template, Operation]]] = {}
for _method, _path, _operation in ROUTES:
    _template = Template(_path)
    _BY_LENGTH.setdefault(len(_template.parts), []).append((_method, _template, _operation))


def find(path: str) -> Mapping[str, Found]:
    """Returns what a path offers, by method; nothing for a path that does not exist. Raises RegistryError."""
    return _found(locate(path))


async def answer(call: Call, leading: Leading) -> Answer:
    """Answer a call. Errors that are not the registry's own pass through."""
    try:
        located = locate(call.path)
        found = _found(located).get(call.method)
        if found is None:
            raise RegistryError(RegistryCode.NOT_FOUND, "HTTP 404 Not Found: there is nothing at this path.")
        return await found.operation(RegistryRequest(leading, call, found.parameters, located.context))
    except RegistryError as error:
        return error_answer(error)


def _found(located: Located) -> Mapping[str, Found]:
    found: dict[str, Found] = {}
    for method, template, operation in _BY_LENGTH.get(len(located.parts), ()):
        parameters = template.match(located.parts)
        if parameters is not None:
            found.setdefault(method, Found(operation, parameters))
    return found
