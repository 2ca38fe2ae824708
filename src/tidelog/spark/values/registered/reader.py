"""The schema that a query reads records as: a version of a subject, fetched when the query is built.

It holds all that executors need to decode records of any other version, and is plain, so that it travels.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from tidelog.base.errors import TidelogError
from tidelog.blocking.registry.answers import Version
from tidelog.blocking.registry.client import LATEST, RegistryClient
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.blocking.registry.options import RegistryOptions
from tidelog.registry.schema import Dependency, Schema, SchemaType
from tidelog.spark.values.errors import BadSchema

KINDS = {SchemaType.AVRO: "avro", SchemaType.JSON: "json", SchemaType.PROTOBUF: "protobuf"}

BUILD_RETRY_S = 10.0
"""Longer than another broker takes to become the registry's leader."""


@dataclass(frozen=True, slots=True)
class SubjectChoice:
    """Which schema of which registry."""

    registry: RegistryOptions
    subject: str
    version: int | None = None
    """None: the newest, also while the query runs."""


@dataclass(frozen=True, slots=True)
class ReaderSchema:
    choice: SubjectChoice
    id: int
    version: int
    schema: Schema
    dependencies: tuple[Dependency, ...] = ()

    @property
    def kind(self) -> str:
        return KINDS[self.schema.type]

    @property
    def is_pinned(self) -> bool:
        return self.choice.version is not None

    def __str__(self) -> str:
        return f"version {self.version} of {self.choice.subject}"


def fetch_reader(choice: SubjectChoice, kind: str | None = None) -> ReaderSchema:
    """`kind`: the kind that is expected, where it is. BadSchema says what the registry has against it."""
    client = builders_client(choice.registry)
    found = newest(client, choice.subject, choice.version)
    if kind is not None and KINDS[found.schema.type] != kind:
        raise BadSchema(
            f"version {found.version} of {choice.subject} is {KINDS[found.schema.type]}, and not {kind}"
        )
    dependencies = client.dependencies(found.schema, found.subject)
    return ReaderSchema(choice, found.id, found.version, found.schema, dependencies)


def newest(client: RegistryClient, subject: str, version: int | None = None) -> Version:
    """Or the version that is asked for."""
    try:
        return client.version(subject, LATEST if version is None else version)
    except RegistryRefused as refusal:
        if refusal.is_not_found:
            which = "" if version is None else f" version {version} of"
            raise BadSchema(
                f"the schema registry has no{which} subject '{subject}';"
                " `tidelog schema list` shows what it has"
            ) from refusal
        raise BadSchema(f"the subject '{subject}' cannot be read: {refusal}") from refusal
    except TidelogError as error:
        raise BadSchema(f"the subject '{subject}' cannot be read: {error}") from error


def builders_client(options: RegistryOptions) -> RegistryClient:
    """For the driver, while a person may wait for the queries to start: a wrong URL is said soon."""
    return client_of(replace(options, retry_s=min(options.retry_s, BUILD_RETRY_S)))


@lru_cache(maxsize=16)
def client_of(options: RegistryOptions) -> RegistryClient:
    """One for each process: an executor asks for the same schemas at every batch."""
    return RegistryClient(options)
