"""A schema that a client sent: its references need permissions, too, since they show what they refer to."""

from tidelog.broker.registry.api.bodies import SchemaBody
from tidelog.broker.registry.api.request import RegistryRequest
from tidelog.broker.registry.authorization import READ
from tidelog.registry import config as settings
from tidelog.registry import subjects
from tidelog.registry.schema import Schema
from tidelog.registry.state import lookups


def sent_schema(request: RegistryRequest, subject: str, body: SchemaBody) -> Schema:
    """Raises RegistryError for what is no schema, or refers to what the client may not read."""
    schema = body.checked()
    for target in {subjects.qualified(reference.subject, subject) for reference in schema.references}:
        request.authorization.check(request.call, READ, target)
    return schema


def normalizes(request: RegistryRequest, subject: str) -> bool:
    """Whether texts that differ in no meaning count as the same."""
    config = lookups.config_in_scope(request.state, subject)
    return request.query.flag("normalize") or bool(config.get(settings.NORMALIZE))
