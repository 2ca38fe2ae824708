"""The expensive part of a request, with stand-ins for parsed schemas."""

import pickle

import pytest

from tidelog.registry import preparing
from tidelog.registry.compatibility import Level
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.parsed import Incompatibility, SchemaError
from tidelog.registry.preparing import Earlier, Job, Prepared, Source, prepare
from tidelog.registry.schema import Dependency, SchemaType


class Letters:
    type = SchemaType.AVRO

    def __init__(self, text, dependencies=()):
        self.text = text
        self.dependencies = dependencies

    def normalized(self):
        return Letters("".join(sorted(self.text)))

    def formatted(self, format):
        return (
            self.text + "".join(one.text for one in self.dependencies) if format == "resolved" else self.text
        )

    def top_level_fields(self):
        return frozenset(self.text)

    def incompatibilities(self, writer, policy):
        return [] if set(writer.text) <= set(self.text) else [Incompatibility("LETTER", "missing", "")]


@pytest.fixture
def parsed(monkeypatch):
    texts = []

    def parse(kind, text, dependencies):
        texts.append(text)
        if "?" in text:
            raise SchemaError(f"{text} is a question.")
        return Letters(text, dependencies)

    monkeypatch.setattr(preparing, "parse", parse)
    preparing._cache.clear()
    yield texts
    preparing._cache.clear()


def source(text, *dependencies):
    return Source(SchemaType.AVRO, text, tuple(Dependency(*one) for one in dependencies))


def test_a_schema_is_stored_in_its_canonical_form(parsed):
    assert prepare(Job(source("ba"))) == Prepared("ba")
    assert prepare(Job(source("ba"), normalize=True)) == Prepared("ab")


def test_a_schema_is_compared_with_the_versions_of_the_job(parsed):
    job = Job(source("a"), False, Level.BACKWARD, (Earlier(1, source("b")),))
    assert "LETTER" in prepare(job).problems[0]
    assert prepare(job._replace(level=Level.FORWARD, earlier=(Earlier(1, source("a")),))).problems == ()


def test_a_text_that_is_no_schema(parsed):
    with pytest.raises(RegistryError) as refusal:
        prepare(Job(source("?")))
    assert refusal.value.code == RegistryCode.INVALID_SCHEMA
    assert refusal.value.message == "Invalid schema of type AVRO, details: ? is a question."


def test_an_earlier_version_that_is_no_schema_is_named(parsed):
    with pytest.raises(RegistryError, match="version 7"):
        prepare(Job(source("a"), False, Level.BACKWARD, (Earlier(7, source("?")),)))


def test_a_schema_with_its_references_written_out_is_found(parsed):
    versions = (Earlier(2, source("b", ("n", "c"))), Earlier(1, source("a", ("n", "bc"))))
    assert prepare(Job(source("abc"), inlined=versions)).same_as == 1
    assert prepare(Job(source("abd"), inlined=versions)).same_as is None


def test_small_schemas_are_parsed_once(parsed):
    large = "x" * (preparing.CACHED_CHARS_MAX + 1)
    for _ in range(3):
        prepare(Job(source("a")))
        prepare(Job(source(large)))
    assert (parsed.count("a"), parsed.count(large)) == (1, 3)


def test_parsed_schemas_are_kept_within_a_bound_on_all_texts_together(parsed):
    text = "x" * 100_000
    for number in range(100):
        prepare(Job(source(f"{number}{text}")))
    assert preparing._cache.kept_chars <= preparing.CACHED_CHARS_MAX
    parsed.clear()
    prepare(Job(source(f"99{text}")))
    assert not parsed, "the newest are kept"
    prepare(Job(source(f"0{text}")))
    assert len(parsed) == 1


def test_every_version_of_a_long_history_stays_parsed(parsed):
    job = Job(
        source("a"), False, Level.FULL_TRANSITIVE, tuple(Earlier(n, source("a" * n)) for n in range(1000))
    )
    prepare(job)
    parsed.clear()
    prepare(job)
    assert not parsed


@pytest.mark.parametrize("field", ["earlier", "inlined"])
def test_a_job_that_takes_too_long_ends_between_two_versions(parsed, field):
    times = iter([False, False, True])
    versions = tuple(Earlier(number, source("a", ("n", "b"))) for number in range(1, 10))
    job = Job(source("a"), False, Level.BACKWARD_TRANSITIVE)._replace(**{field: versions})
    with pytest.raises(RegistryError, match="2 of 9") as refusal:
        prepare(job, lambda: next(times))
    assert refusal.value.code == RegistryCode.OPERATION_TIMEOUT


def test_a_format(parsed):
    assert preparing.formatted(source("a", ("n", "b")), "resolved") == "ab"


def test_jobs_and_results_travel_between_processes():
    job = Job(source("a", ("n", "b")), True, Level.FULL, (Earlier(1, source("c")),))
    assert pickle.loads(pickle.dumps(job)) == job
    prepared = Prepared("a", ("no",), 3)
    assert pickle.loads(pickle.dumps(prepared)) == prepared
