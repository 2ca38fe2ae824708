"""The expensive part of a request: parse a schema, bring it into its canonical form, compare it with others.

`prepare` is one pure function of plain data, so that it can run on a thread or in another process. A `Job`
holds everything that the result depends on: as long as the state gives the same job again, the result
holds.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tidelog.registry.compatibility import EarlierVersion, Level, problems
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.parsed import ParsedSchema, Policy, SchemaError, check_new, parse
from tidelog.registry.parsed_cache import ParsedCache
from tidelog.registry.reserved_fields import Reserved
from tidelog.registry.schema import Dependency, SchemaType

CACHED_CHARS_MAX = 4 * 1024 * 1024
"""Of all texts, with their dependencies, whose parsed schemas are kept. What is parsed takes ten to twenty
times the memory of its text."""
CHARS_OF_SOURCE = 100
"""What a text takes in memory beside its characters, in characters."""


class Source(NamedTuple):
    """A schema with all that is needed to parse it."""

    type: SchemaType
    text: str
    dependencies: tuple[Dependency, ...] = ()


class Earlier(NamedTuple):
    version: int
    source: Source


class Job(NamedTuple):
    source: Source
    normalize: bool = False
    level: Level = Level.NONE
    earlier: tuple[Earlier, ...] = ()
    """Those that the level asks for, the newest first."""
    policy: Policy = Policy.STRICT
    reserved: Reserved | None = None
    is_new: bool = False
    """The schema is to be registered with an id of this registry: it has to hold to all rules of today."""
    inlined: tuple[Earlier, ...] = ()
    """Versions with references that the schema may be a copy of, with all references written out."""


class Prepared(NamedTuple):
    text: str
    """As it is stored."""
    problems: tuple[str, ...] = ()
    """Why the schema breaks the level; empty: it does not."""
    same_as: int | None = None
    """The version among the inlined ones that means the same."""


def prepare(job: Job, is_over: Callable[[], bool] = lambda: False) -> Prepared:
    """Raises RegistryError: INVALID_SCHEMA for what is no schema, OPERATION_TIMEOUT once the time `is_over`.

    A comparison of two schemas is bounded by itself; a subject may have thousands of versions.
    """
    with _invalid_where_no_schema(job.source):
        schema = parsed(job.source)
        if job.is_new:
            check_new(schema)
        if job.normalize:
            schema = schema.normalized()
        found = problems(job.level, schema, _parsed_earlier(job, is_over), job.policy, job.reserved)
    return Prepared(schema.text, tuple(found), _same_as(job, schema, is_over))


def formatted(source: Source, format: str) -> str:
    """Returns the schema in a format that a client asks for, such as `resolved` or `serialized`."""
    with _invalid_where_no_schema(source):
        return parsed(source).formatted(format)


def chars_of(job: Job) -> int:
    """Returns the characters of all texts of a job."""
    others = (earlier.source for earlier in (*job.earlier, *job.inlined))
    return _chars(job.source) + sum(map(_chars, others))


def _chars(source: Source) -> int:
    texts = [source.text, *(dependency.text for dependency in source.dependencies)]
    return CHARS_OF_SOURCE * len(texts) + sum(map(len, texts))


def parsed(source: Source) -> ParsedSchema:
    with _invalid_where_no_schema(source):
        return _cache.get(source)


@contextmanager
def _invalid_where_no_schema(source: Source) -> Iterator[None]:
    """Also a schema that parses may be beyond a limit: when it is compared, or its references are inlined."""
    try:
        yield
    except SchemaError as error:
        raise RegistryError(
            RegistryCode.INVALID_SCHEMA, f"Invalid schema of type {source.type}, details: {error}"
        ) from None


def _parse(source: Source) -> ParsedSchema:
    return parse(*source)


_cache = ParsedCache(_parse, _chars, CACHED_CHARS_MAX)


def _parsed_earlier(job: Job, is_over: Callable[[], bool]) -> Iterator[EarlierVersion]:
    for compared, (version, source) in enumerate(job.earlier):
        _check_time(is_over, compared, len(job.earlier))
        try:
            yield EarlierVersion(version, parsed(source))
        except RegistryError as error:
            raise RegistryError(
                error.code,
                f"The schema cannot be compared with version {version}, which is no valid schema: {error} "
                "Delete that version, or set the compatibility to NONE.",
            ) from None


def _same_as(job: Job, schema: ParsedSchema, is_over: Callable[[], bool]) -> int | None:
    for compared, (version, source) in enumerate(job.inlined):
        _check_time(is_over, compared, len(job.inlined))
        if source.type == schema.type and parsed(source).formatted("resolved") == schema.text:
            return version
    return None


def _check_time(is_over: Callable[[], bool], compared: int, versions: int) -> None:
    if is_over():
        raise RegistryError(
            RegistryCode.OPERATION_TIMEOUT,
            f"The schema was compared with {compared} of {versions} earlier versions when its time was over. "
            "Delete versions that no data has, or set a compatibility that is not transitive.",
        )
