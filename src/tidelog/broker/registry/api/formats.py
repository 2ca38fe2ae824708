"""`format=` and `referenceFormat=`: a schema in another form than it is stored in.

Such as with its references written out, or with the contexts of the subjects that it refers to.
"""

from typing import Any

from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.registry import subjects
from tidelog.registry.state.references import source_of
from tidelog.registry.state.stored import StoredVersion


async def text_of(request: RegistryRequest, stored: StoredVersion) -> str:
    """Returns the schema's text in the format that the query asks for."""
    format = request.query.text("format").strip()
    if not format:
        return stored.schema.text
    return await request.leading.formatted(source_of(request.state, stored.subject, stored.schema), format)


def with_references(request: RegistryRequest, stored: StoredVersion, shape: dict[str, Any]) -> dict[str, Any]:
    """Returns the shape of a schema with its references in the form that the query asks for."""
    if request.query.text("referenceFormat") == "qualified" and stored.schema.references:
        shape["references"] = [
            one._replace(subject=subjects.qualified(one.subject, stored.subject))._asdict()
            for one in stored.schema.references
        ]
    return shape
