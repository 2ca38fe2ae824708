"""What records add up to: also those of other registries, and those that compaction left."""

from tests.rigs.counted_calls import counted_calls
from tests.rigs.registry import Registry, schema
from tidelog.coordination.decision import StateRecord
from tidelog.registry.mode import Mode
from tidelog.registry.state import lookups
from tidelog.registry.state.lookups import Which
from tidelog.registry.state.shard import RegistryShard
from tidelog.registry.state.stored import Place


def loaded(*log):
    shard = RegistryShard()
    for key, value in log:
        shard.replay(key, value)
    shard.on_loaded(0, 0)
    return shard


def key_of(subject, version=1, magic=1):
    return f'{{"keytype":"SCHEMA","subject":"{subject}","version":{version},"magic":{magic}}}'.encode()


def value_of(subject, version, schema_id, text, deleted="false"):
    place = f'"subject":"{subject}","version":{version},"id":{schema_id}'
    return f'{{{place},"schema":"{text}","deleted":{deleted}}}'.encode()


def test_a_log_of_confluents_registry():
    shard = loaded(
        (b'{"keytype":"NOOP","magic":0}', None),
        (b'{"keytype":"CONFIG","subject":null,"magic":0}', b'{"compatibilityLevel":"FULL"}'),
        (key_of("a"), value_of("a", 1, 1, "x")),
        (key_of("b"), value_of("b", 1, 1, "x")),
        (key_of("a", 2), value_of("a", 2, 2, "y")),
        (b'{"keytype":"DELETE_SUBJECT","subject":"b","magic":0}', b'{"subject":"b","version":1}'),
        (b'{"keytype":"MODE","subject":"a","magic":0}', b'{"mode":"READONLY"}'),
        (b'{"keytype":"ASSOC","tenant":"t"}', b"{}"),
        (b"garbage", b"\x00"),
        (b"", None),
        (key_of("c"), b"no json"),
    )
    state = shard.state
    assert lookups.subject_names(state) == ["a"]
    assert lookups.subject_names(state, which=Which.DELETED) == ["b"]
    assert [one.place for one in lookups.places_of(state, lookups.by_id(state, 1))] == [Place("a", 1)]
    assert lookups.config_in_scope(state, "a") == {"compatibilityLevel": "FULL"}
    assert lookups.mode_in_scope(state, "a") is Mode.READONLY
    assert len(list(shard.take_notes())) == 4


def test_unreadable_records_are_noted_a_few_times_and_counted():
    notes = list(loaded(*[(b"x%d" % n, b"y") for n in range(100)]).take_notes())
    assert len(notes) == 11
    assert "100 records" in notes[-1]


SKIPPED = b'{"subject":"a","version":3,"id":7,"schemaType":"THRIFT","schema":"s","deleted":false}'


def registering_after(*log):
    """The id and the version that the next schema of the subject `a` gets."""
    registry = Registry()
    registry.log.records.extend(StateRecord(*one) for one in log)
    registry.log.load(RegistryShard())
    made = registry.register("a", "new")
    assert registry.replayed() == registry.state
    return made.id, made.version


def test_a_skipped_version_keeps_its_id_and_its_number():
    known = (key_of("a", 2), value_of("a", 2, 2, "x"))
    assert registering_after(known, (key_of("a", 3), SKIPPED)) == (8, 4)
    assert registering_after((key_of("a", 3), SKIPPED)) == (8, 4)
    assert registering_after(known, (key_of("b"), SKIPPED)) == (8, 3)
    assert registering_after(known, (key_of(":.c:b"), SKIPPED)) == (3, 3), "of another context"
    assert registering_after(known, (key_of("a", 3), b'{"id":7,"metadata":5}')) == (8, 4)
    assert registering_after(known, (key_of("a", 3), b'{"id":"7"}')) == (3, 4)
    assert registering_after(known, (key_of("a", 3), value_of("a", 3, 2, "other"))) == (3, 4)


def test_a_skipped_version_that_is_gone_keeps_its_id_alone():
    for later in (None, value_of("a", 3, 7, "x")):
        skipped = ((key_of("a", 3), SKIPPED), (key_of("a", 3), later))
        assert registering_after(*skipped) == (8, 1 if later is None else 4)


def test_an_id_keeps_its_first_schema():
    shard = loaded((key_of("a"), value_of("a", 1, 1, "x")), (key_of("b"), value_of("b", 1, 1, "y")))
    assert lookups.subject_names(shard.state) == ["a"]
    assert "id 1 has another schema" in next(iter(shard.take_notes()))


def test_a_cleared_subject_forgets_what_is_soft_deleted():
    log = [
        (key_of("a"), value_of("a", 1, 1, "x", "true")),
        (key_of("a", 2), value_of("a", 2, 2, "y")),
        (key_of(":.c:b"), value_of(":.c:b", 1, 1, "z", "true")),
    ]
    clear = '{{"keytype":"CLEAR_SUBJECT","subject":{},"magic":0}}'

    def left(scope):
        state = loaded(*log, (clear.format(scope).encode(), b"{}")).state
        return [(subject, *versions) for subject, versions in state.subjects.items()]

    assert left('"a"') == [("a", 2), (":.c:b", 1)]
    assert left('":.c:"') == [("a", 1, 2)]
    assert left("null") == [("a", 2)]


def test_versions_are_in_order_whatever_the_order_of_their_records():
    state = loaded(
        (key_of("a", 3), value_of("a", 3, 3, "z")),
        (key_of("a", 1), value_of("a", 1, 1, "x")),
        (key_of("a", 2), value_of("a", 2, 2, "y")),
    ).state
    assert [one.version for one in lookups.versions_of(state, "a")] == [1, 2, 3]
    assert lookups.version_of(state, "a", -1).version == 3


def test_a_key_in_another_spelling_is_deleted_in_that_spelling_too():
    registry = Registry()
    old = key_of("a", magic=0)
    spaced = b'{"keytype": "SCHEMA", "subject": "a", "version": 1, "magic": 1}'
    registry.log.records += [StateRecord(key, value_of("a", 1, 1, "x")) for key in (old, spaced)]
    registry.log.load(RegistryShard())
    registry.delete_for_good("a")
    registry.compact(tombstones=True)
    assert registry.replayed().subjects == {}
    assert registry.state.odd_keys == {}


def test_ids_are_not_given_again_after_compaction():
    registry = Registry()
    registry.register("a", "x")
    registry.register("b", "y")
    registry.register(":.c:d", "y")
    registry.delete_for_good("b")
    registry.delete_for_good(":.c:d")
    registry.compact(tombstones=True)
    assert registry.replayed() == registry.state
    registry.log.load(RegistryShard())
    assert registry.register("b", "z").id == 3
    assert registry.register(":.c:d", "z").id == 2


def test_what_a_subject_lost_stays_lost_though_its_record_is_replaced():
    """A newer DELETE_SUBJECT record replaces the older one, which said more."""
    registry = Registry()
    for text in "xyz":
        registry.register("a", text)
    registry.run(registry.shard.delete_subject("a"))
    registry.run(registry.shard.change_mode("a", Mode.IMPORT, force=True))
    registry.register("a", "x", id=1, version=1)  # lives again
    registry.run(registry.shard.delete_subject("a"))
    assert [one.deleted for one in registry.state.subjects["a"].values()] == [True, True, True]
    registry.compact()
    assert registry.replayed() == registry.state


def test_a_referrer_is_forgotten_with_its_version():
    registry = Registry()
    registry.register("a", "x")
    registry.register("b", schema("y", ("n", "a", 1)))
    assert registry.state.referrers == {Place("a", 1): {Place("b", 1)}}
    registry.delete_for_good("b")
    assert registry.state.referrers == {}


def test_a_schema_of_many_subjects_costs_no_more_with_each():
    """The key of thousands of topics is one string."""

    def calls(subjects: int) -> int:
        registry = Registry()
        with counted_calls() as count:
            for number in range(subjects):
                registry.register(f"topic-{number}-key", '"string"')
        return count()

    assert calls(400) < 2.2 * calls(200)
