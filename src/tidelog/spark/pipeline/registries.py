"""The key `registry` of sources and sinks: how the registry is reached, and which subject is meant."""

from pathlib import Path

from tidelog.base.variables import Unresolved
from tidelog.blocking.registry.options import BadRegistryOption, RegistryOptions, options_of
from tidelog.spark.pipeline.spec import Registry
from tidelog.spark.secrets import by_value
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.registered.reader import SubjectChoice

FILES = ("location",)
"""How options end that name a file."""


def chosen_subject(registry: str | Registry, topic: str | None, directory: Path) -> SubjectChoice:
    """Without a subject it is the topic's, as most serializers name it: TOPIC-value."""
    said = written_out(registry)
    subject = said.subject or f"{topic}-value"
    return SubjectChoice(registry_options(said, directory), subject, said.version)


def written_out(registry: str | Registry) -> Registry:
    return Registry(url=registry) if isinstance(registry, str) else registry


def registry_options(registry: Registry, directory: Path) -> RegistryOptions:
    """With the content of files, since executors may run where they are not. BadSchema says what is wrong."""
    try:
        properties = {name: str(value) for name, value in by_value(registry.options).items()}
    except Unresolved as error:
        raise BadSchema(str(error)) from error
    for name, value in properties.items():
        if name.endswith(FILES):
            properties[name] = str(directory / value)
    properties["schema.registry.url"] = registry.url
    if registry.user is not None:
        properties["basic.auth.user.info"] = f"{registry.user}:{registry.password or ''}"
    if registry.token is not None:
        properties["bearer.auth.token"] = registry.token
    try:
        return options_of(properties).embedded()
    except BadRegistryOption as error:
        raise BadSchema(str(error)) from error
    except OSError as error:
        raise BadSchema(f"cannot read {error.filename}: {error.strerror}") from error
