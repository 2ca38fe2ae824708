"""The registry against a naive one: any requests, leaders that die, and logs that are compacted."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.naive_registry import NaiveRegistry
from tests.rigs.registry import Registry, schema
from tidelog.registry.errors import RegistryError
from tidelog.registry.mode import Mode
from tidelog.registry.state import deleting
from tidelog.registry.state.decided import tombstones
from tidelog.registry.state.records import SchemaKey, delete_subject_record
from tidelog.registry.state.shard import RegistryShard
from tidelog.registry.state.stored import Place

SUBJECTS = ["a", "b", ":.c:a"]
TEXTS = ["x", "y", "z"]
LEVELS = [{"compatibilityLevel": "FULL"}, {"compatibilityLevel": "NONE", "normalize": False}]

subjects = st.sampled_from(SUBJECTS)
scopes = st.sampled_from([None, *SUBJECTS])
references = st.none() | st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 3))
registrations = st.tuples(st.just("register"), subjects, st.sampled_from(TEXTS), references)
imports = st.tuples(
    st.just("register"),
    subjects,
    st.sampled_from(TEXTS),
    references,
    st.integers(1, 9),
    st.none() | st.integers(1, 4),
)
requests = st.one_of(
    registrations,
    registrations,
    imports,
    st.tuples(st.just("delete_version"), subjects, st.integers(1, 4), st.booleans()),
    st.tuples(st.just("delete_subject"), subjects, st.booleans()),
    st.tuples(
        st.just("change_mode"),
        scopes,
        st.sampled_from([Mode.READWRITE, Mode.READONLY, Mode.IMPORT]),
        st.booleans(),
    ),
    st.tuples(st.just("delete_mode"), scopes),
    st.tuples(st.just("change_config"), scopes, st.sampled_from(LEVELS)),
    st.tuples(st.just("delete_config"), scopes),
    st.tuples(st.sampled_from(["fail_over", "compact", "compact_all"])),
)


class Real:
    def __init__(self):
        self.registry = Registry()

    def answer(self, name, *arguments):
        try:
            return getattr(self, name)(*arguments)
        except RegistryError as error:
            return error.code

    def register(self, subject, text, reference, schema_id=None, version=None):
        given = schema(text, *([] if reference is None else [("n", *reference)]))
        options = {} if schema_id is None else {"id": schema_id}
        stored = self.registry.register(subject, given, **options, version=version or 0)
        return stored.id, stored.version

    def delete_version(self, subject, version, permanent):
        return self._run(self._shard.delete_version(subject, version, permanent=permanent))

    def delete_subject(self, subject, permanent):
        return self._run(self._shard.delete_subject(subject, permanent=permanent))

    def change_mode(self, scope, mode, force):
        return self._run(self._shard.change_mode(scope, mode, force=force))

    def delete_mode(self, scope):
        return self._run(self._shard.delete_mode(scope))

    def change_config(self, scope, changes):
        return self._run(self._shard.change_config(scope, changes))

    def delete_config(self, scope):
        return self._run(self._shard.delete_config(scope))

    # What happens to the log

    def fail_over(self):
        self.registry.log.load(RegistryShard())

    def compact(self):
        self.registry.compact()

    def compact_all(self):
        self.registry.compact(tombstones=True)

    @property
    def _shard(self):
        return self.registry.shard

    def _run(self, decision):
        return self.registry.run(decision)


def check_state(real, naive):
    state = real.registry.state
    stored = {
        (one.subject, one.version): (one.id, one.schema.text, one.deleted)
        for versions in state.subjects.values()
        for one in versions.values()
    }
    assert stored == {(one.subject, one.version): (one.id, one.text, one.deleted) for one in naive.versions}
    assert all(list(versions) == sorted(versions) for versions in state.subjects.values())
    assert {name: one.highest_id for name, one in state.contexts.items()} == naive.given
    assert (state.modes, state.configs) == (naive.modes, naive.configs)
    referrers = {
        (one.subject, one.version): {(other.subject, other.version) for other in naive.referring(one)}
        for one in naive.versions
        if naive.referring(one)
    }
    assert state.referrers == referrers
    for context in state.contexts.values():
        by_content = {}
        for schema_id, places in context.by_id.items():
            assert len({one.content for one in places.values()}) == 1
            for one in places.values():
                by_content.setdefault(one.content, set()).add(schema_id)
        assert {content: set(ids) for content, ids in context.ids_of.items()} == by_content
    assert real.registry.replayed() == state


def run(steps):
    real, naive, contents = Real(), NaiveRegistry(), {}
    for name, *arguments in steps:
        if not hasattr(naive, name):
            getattr(real, name)()
            check_state(real, naive)
            continue
        expected = getattr(naive, name)(*arguments)
        answer = real.answer(name, *arguments)
        assert answer == expected
        check_state(real, naive)
        if name == "register" and isinstance(answer, tuple):
            context, content = content_of(real.registry.state, arguments[0], answer[0])
            is_import = len(arguments) > 3
            if (
                is_import
            ):  # may give an id again whose schema is deleted for good; the registry itself does not
                contents[context, answer[0]] = content
            assert contents.setdefault((context, answer[0]), content) == content


def content_of(state, subject, schema_id):
    context = ".c" if subject.startswith(":.c:") else "."
    return context, next(iter(state.contexts[context].by_id[schema_id].values())).content


@settings(max_examples=150)
@given(st.lists(requests, max_size=25))
def test_any_requests(steps):
    run(steps)


# Mistakes that the test above has to find


AFTER_A_DELETION = [
    ("register", "a", "x", None),
    ("delete_subject", "a", False),
    ("delete_subject", "a", True),
    ("compact_all",),
    ("fail_over",),
]


def test_a_registry_that_forgets_the_highest_ids_is_found(monkeypatch):
    run(AFTER_A_DELETION)
    monkeypatch.setattr(
        deleting,
        "gone_for_good",
        lambda state, places: tombstones(state, (SchemaKey(*place) for place in places)),
    )
    with pytest.raises(AssertionError):
        run(AFTER_A_DELETION)


DELETED_TWICE = [
    ("register", "a", "x", None),
    ("register", "a", "y", None),
    ("delete_subject", "a", False),
    ("change_mode", "a", Mode.IMPORT, True),
    ("register", "a", "x", None, 1, 1),
    ("delete_subject", "a", False),
    ("compact",),
]


def test_a_soft_deletion_that_says_less_than_the_one_before_is_found(monkeypatch):
    run(DELETED_TWICE)
    monkeypatch.setattr(
        deleting, "delete_subject_record", lambda last: delete_subject_record(Place(last.subject, 1))
    )
    with pytest.raises(AssertionError):
        run(DELETED_TWICE)


def test_references_that_nothing_keeps_are_found(monkeypatch):
    steps = [("register", "a", "x", None), ("register", "b", "y", ("a", 1)), ("delete_subject", "a", False)]
    run(steps)
    monkeypatch.setattr(deleting, "referring", lambda *_, **__: [])
    with pytest.raises(AssertionError):
        run(steps)
