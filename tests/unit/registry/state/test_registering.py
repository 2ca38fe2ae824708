"""Registrations: ids, versions, modes, references, metadata."""

import pytest

from tests.rigs.registry import Registry, prepare, schema
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.mode import Mode
from tidelog.registry.preparing import Job, Prepared
from tidelog.registry.schema import Dependency, Schema, SchemaType
from tidelog.registry.state import lookups, matching
from tidelog.registry.state.jobs import schema_job
from tidelog.registry.state.records import INT_MAX
from tidelog.registry.state.registering import Registration
from tidelog.registry.state.stored import Place


@pytest.fixture
def registry():
    return Registry()


def place(stored):
    return (stored.id, stored.version)


def refused(registry, subject, what, **options):
    with pytest.raises(RegistryError) as refusal:
        registry.register(subject, what, **options)
    return refusal.value.code


def test_the_same_schema_has_one_id_in_every_subject(registry):
    assert place(registry.register("a", "x")) == (1, 1)
    assert place(registry.register("a", "y")) == (2, 2)
    assert place(registry.register("b", "y")) == (2, 1)
    assert place(registry.register("a", "x")) == (1, 1)
    assert len(registry.log.records) == 3


def test_a_known_text_needs_no_preparation(registry):
    registry.register("a", "x")
    assert registry.shard.job(Registration("a", schema("x"))).version == 1
    assert isinstance(registry.shard.job(Registration("a", schema(" x"))), Job)
    assert isinstance(registry.shard.job(Registration("a", schema("x"), normalize=True)), Job)
    assert isinstance(registry.shard.job(Registration("b", schema("x"))), Job)


def test_schemas_that_are_equal_once_prepared_are_one(registry):
    registry.register("a", "x y")
    assert place(registry.register("a", "xy ")) == (1, 1)
    assert place(registry.register("a", "XY", normalize=True)) == (1, 1)
    registry.run(registry.shard.change_config(None, {"normalize": True}))
    assert place(registry.register("a", "Xy")) == (1, 1)
    assert place(registry.register("a", "Xy", normalize=False)) == (2, 2)


def test_a_registration_is_prepared_again_where_the_subject_has_changed(registry):
    request = Registration("a", schema("y"))
    job = registry.shard.job(request)
    registry.register("a", "x")
    again = registry.run(registry.shard.register(request, job, Prepared("y")))
    assert isinstance(again, Job)
    assert [one.version for one in again.earlier] == [1]
    assert registry.run(registry.shard.register(request, again, Prepared("y"))).version == 2


def test_a_change_elsewhere_does_not_disturb(registry):
    request = Registration("a", schema("y"))
    job = registry.shard.job(request)
    registry.register("b", "x")
    assert registry.run(registry.shard.register(request, job, Prepared("y"))).id == 2


def test_a_schema_that_breaks_the_level_is_refused(registry):
    assert place(registry.register("a", "x!")) == (1, 1)
    assert refused(registry, "a", "y!") == RegistryCode.INCOMPATIBLE_SCHEMA
    assert place(registry.register("a", "y!", force=True)) == (2, 2)
    registry.run(registry.shard.change_config("a", {"compatibilityLevel": "NONE"}))
    assert place(registry.register("a", "z!")) == (3, 3)


def test_the_message_has_confluents_words(registry):
    registry.register("a", "x")
    with pytest.raises(RegistryError, match=r'an earlier schema for subject "a", details: \[it shouts\]'):
        registry.register("a", "y!")


def test_which_versions_a_level_asks_for(registry):
    for text in "xyz":
        registry.register("a", text)
    registry.run(registry.shard.delete_version("a", 2))

    def compared(level):
        registry.run(registry.shard.change_config("a", {"compatibilityLevel": level}))
        return [one.version for one in registry.shard.job(Registration("a", schema("w"))).earlier]

    assert compared("BACKWARD") == [3]
    assert compared("FULL_TRANSITIVE") == [3, 1]
    assert compared("NONE") == []


def test_only_versions_of_the_same_group_are_compared(registry):
    registry.run(registry.shard.change_config("a", {"compatibilityGroup": "major"}))
    first = {"properties": {"major": "1"}}
    registry.register("a", schema("x", metadata=first))
    registry.register("a", schema("y!", metadata={"properties": {"major": "2"}}))
    job = registry.shard.job(Registration("a", schema("z", metadata=first)))
    assert [one.version for one in job.earlier] == [1]


# Versions


def test_a_soft_deleted_schema_comes_back_with_its_id_under_a_new_version(registry):
    registry.register("a", "x")
    registry.register("a", "y")
    registry.run(registry.shard.delete_version("a", 1))
    assert place(registry.register("a", "x")) == (1, 3)
    assert sorted(registry.state.subjects["a"]) == [2, 3]


def test_a_soft_deleted_version_that_is_referred_to_stays(registry):
    registry.register("a", "x")
    registry.register("b", schema("y", ("n", "a", 1)))
    registry.run(registry.shard.delete_subject("b"))
    registry.run(registry.shard.delete_subject("a"))
    registry.register("a", "x")
    assert sorted(registry.state.subjects["a"]) == [1, 2]


def test_a_version_can_be_given_if_it_is_the_next(registry):
    registry.register("a", "x")
    assert refused(registry, "a", "y", version=3) == RegistryCode.INVALID_SCHEMA
    assert refused(registry, "a", "y", version=1) == RegistryCode.INVALID_SCHEMA
    stored = registry.register("a", "y", version=2)
    assert place(stored) == (2, 2)
    assert stored.schema.metadata == {"properties": {"confluent:version": "2"}}


def test_the_latest_version_is_the_next_or_the_same(registry):
    registry.register("a", "x")
    assert place(registry.register("a", "x", version=-1)) == (1, 1)
    assert place(registry.register("a", "y", version=-1)) == (2, 2)
    assert place(registry.register("a", "y", version=-1)) == (2, 2)


def test_a_new_version_replaces_no_other_deleted_schema(registry):
    registry.register("a", "x")
    registry.register("a", "y")
    registry.run(registry.shard.delete_subject("a"))
    registry.register("a", "x")
    assert {one.version: one.deleted for one in registry.state.subjects["a"].values()} == {2: True, 3: False}


def test_a_live_version_with_the_same_id_stays(registry):
    registry.run(registry.shard.change_mode("a", Mode.IMPORT))
    registry.register("a", "x", id=1, version=1)
    registry.register("a", "x", id=1, version=2)
    assert [one.deleted for one in registry.state.subjects["a"].values()] == [False, False]


def test_an_older_schema_is_not_the_latest(registry):
    registry.register("a", "x")
    registry.register("a", "y")
    stored = registry.register("a", "x", version=-1)
    assert stored.version == 3
    assert place(registry.register("a", "y")) == (2, 2)


# References


def test_references_are_resolved_and_pinned(registry):
    registry.register("a", "x")
    registry.register("b", schema("y", ("na", "a", 1)))
    registry.register("b", schema("y2", ("na", "a", 1)))
    request = Registration("c", schema("z", ("nb", "b", -1), ("na", "a", 1)))
    job = registry.shard.job(request)
    assert job.source.dependencies == (Dependency("na", "x"), Dependency("nb", "y2"))
    assert [one.version for one in registry.register("c", request.schema).schema.references] == [2, 1]


def test_a_reference_is_meant_in_its_context(registry):
    registry.register(":.c:a", "x")
    assert refused(registry, "b", schema("y", ("n", "a", 1))) == RegistryCode.INVALID_SCHEMA
    registry.register(":.c:b", schema("y", ("n", "a", 1)))
    registry.register("b", schema("y", ("n", ":.c:a", 1)))
    assert registry.state.referrers[Place(":.c:a", 1)] == {Place(":.c:b", 1), Place("b", 1)}


@pytest.mark.parametrize("target", [("missing", 1), ("a", 2), ("missing", -1), ("b", 1)])
def test_a_reference_to_nothing_or_to_itself(registry, target):
    registry.register("a", "x")
    assert refused(registry, "b", schema("y", ("n", *target))) == RegistryCode.INVALID_SCHEMA
    assert len(registry.log.records) == 1


def test_circles_in_a_foreign_log_are_refused(registry):
    for subject, other in ("ab", "ba"):
        registry.shard.replay(
            f'{{"keytype":"SCHEMA","subject":"{subject}","version":1,"magic":1}}'.encode(),
            f'{{"subject":"{subject}","version":1,"id":{ord(subject)},"schema":"{subject}","deleted":false,'
            f'"references":[{{"name":"n{other}","subject":"{other}","version":1}}]}}'.encode(),
        )
    with pytest.raises(RegistryError, match="refers to itself"):
        registry.register("c", schema("z", ("n", "a", 1)))


def test_too_many_references(registry):
    registry.register("a", "x")
    many = [(f"n{n}", "a", 1) for n in range(1001)]
    assert refused(registry, "b", schema("y", *many)) == RegistryCode.INVALID_SCHEMA
    registry.register("s0", "y")
    for n in range(1, 101):
        registry.register(f"s{n}", schema(f"y{n}", (f"n{n}", f"s{n - 1}", 1)))
    job = registry.shard.job(Registration("t", schema("z", ("n", "s99", 1))))
    assert len(job.source.dependencies) == 100
    assert refused(registry, "t", schema("z", ("n", "s100", 1))) == RegistryCode.INVALID_SCHEMA


# Modes


def test_a_read_only_subject(registry):
    registry.run(registry.shard.change_mode("a", Mode.READONLY))
    assert refused(registry, "a", "x") == RegistryCode.OPERATION_NOT_PERMITTED
    registry.register("b", "x")


def test_ids_are_given_in_import_mode_alone(registry):
    assert refused(registry, "a", "x", id=7) == RegistryCode.OPERATION_NOT_PERMITTED
    registry.run(registry.shard.change_mode(None, Mode.IMPORT))
    assert refused(registry, "a", "x") == RegistryCode.OPERATION_NOT_PERMITTED
    assert place(registry.register("a", "x", id=7, version=3)) == (7, 3)
    assert place(registry.register("a", "y", id=5)) == (5, 4)
    assert place(registry.register("a", "x", id=7, version=3)) == (7, 3)
    registry.run(registry.shard.change_mode(None, Mode.READWRITE))
    assert place(registry.register("b", "z")) == (8, 1)


def test_an_import_overwrites_nothing(registry):
    registry.run(registry.shard.change_mode(None, Mode.IMPORT))
    registry.register("a", "x", id=1, version=1)
    assert refused(registry, "b", "y", id=1) == RegistryCode.OPERATION_NOT_PERMITTED
    assert refused(registry, "a", "y", id=2, version=1) == RegistryCode.OPERATION_NOT_PERMITTED
    assert refused(registry, "a", "x", id=2, version=1) == RegistryCode.OPERATION_NOT_PERMITTED
    assert refused(registry, "a", Schema(SchemaType.JSON, "x"), id=1) == RegistryCode.OPERATION_NOT_PERMITTED
    assert refused(registry, "a", "z", id=INT_MAX + 1) == RegistryCode.INVALID_SCHEMA
    assert refused(registry, "a", "z", id=3, version=INT_MAX + 1) == RegistryCode.INVALID_SCHEMA


def test_an_import_may_give_one_content_two_ids(registry):
    registry.run(registry.shard.change_mode(None, Mode.IMPORT))
    registry.register("a", "x", id=9)
    registry.register("b", "x", id=4)
    registry.run(registry.shard.change_mode(None, Mode.READWRITE))
    assert place(registry.register("a", "x")) == (9, 1)
    assert place(registry.register("c", "x")) == (4, 1)
    registry.delete_for_good("b")
    registry.delete_for_good("c")
    assert place(registry.register("c", "x")) == (9, 1)


def test_an_import_is_stored_as_it_comes(registry):
    """Neither normalized nor compared, and not taken for another id's schema."""
    registry.run(registry.shard.change_mode(None, Mode.IMPORT))
    registry.register("a", "X!", id=1, normalize=True)
    assert registry.register("a", "Y!", id=2, normalize=True).schema.text == "Y!"
    assert registry.shard.job(Registration("a", schema("Y!"), id=2)).level == "NONE"
    assert place(registry.register("a", "Y!", id=7)) == (7, 3)
    assert place(registry.register("a", "Y!", id=7)) == (7, 3)


def test_the_last_id(registry):
    registry.run(registry.shard.change_mode("a", Mode.IMPORT))
    registry.register("a", "x", id=INT_MAX)
    assert refused(registry, "b", "y") == RegistryCode.OPERATION_NOT_PERMITTED
    assert place(registry.register("b", "x")) == (INT_MAX, 1)
    assert place(registry.register(":.c:b", "y")) == (1, 1)


def test_one_text_of_two_kinds_has_two_ids(registry):
    registry.register("a", "x")
    assert place(registry.register("b", Schema(SchemaType.JSON, "x"))) == (2, 1)
    assert place(registry.register("a", "x")) == (1, 1)


# Contexts


def test_each_context_has_its_own_ids(registry):
    registry.register("a", "x")
    registry.register("a", "y")
    assert place(registry.register(":.c:a", "y")) == (1, 1)
    assert lookups.context_names(registry.state) == [".", ".c"]
    registry.register(":.c:a", "x")
    assert sum(b"CONTEXT" in key for key, _ in registry.log.records) == 1
    assert lookups.by_id(registry.state, 1).schema.text == "x"
    assert lookups.by_id(registry.state, 1, ":.c:").schema.text == "y"


# Metadata


def test_metadata_and_rules_pass_on_to_the_next_version(registry):
    metadata = {"properties": {"owner": "me"}}
    rules = {"domainRules": [{"name": "r", "type": "CEL"}]}
    registry.register("a", schema("x", metadata=metadata, rule_set=rules))
    following = registry.register("a", "y")
    assert (following.schema.metadata, following.schema.rule_set) == (metadata, rules)
    assert place(registry.register("a", "y")) == (2, 2)
    assert place(registry.register("a", schema("y", metadata={}))) == (3, 3)


def test_a_configuration_adds_metadata(registry):
    registry.run(
        registry.shard.change_config(
            None,
            {
                "defaultMetadata": {"properties": {"owner": "nobody", "team": "t"}},
                "overrideMetadata": {"properties": {"cluster": "c"}},
            },
        )
    )
    stored = registry.register("a", schema("x", metadata={"properties": {"owner": "me", "cluster": "d"}}))
    assert stored.schema.metadata == {"properties": {"cluster": "c", "owner": "me", "team": "t"}}
    assert place(registry.register("a", "x")) == (1, 1)


def test_metadata_that_name_the_version_follow_it(registry):
    registry.register("a", "x", version=-1)
    stored = registry.register("a", "y")
    assert stored.schema.metadata == {"properties": {"confluent:version": "2"}}


def test_a_schema_as_sent_is_not_known_where_the_configuration_adds_to_it(registry):
    registry.register("a", "x")
    registry.run(registry.shard.change_config("a", {"defaultMetadata": {"properties": {"p": "q"}}}))
    assert place(registry.register("a", "x")) == (2, 2)
    assert place(registry.register("a", "x")) == (2, 2)


def test_without_a_text_the_latest_version_gets_other_metadata(registry):
    assert refused(registry, "a", " ") == RegistryCode.INVALID_SCHEMA
    registry.register("a", "x")
    stored = registry.register("a", schema("", metadata={"properties": {"p": "q"}}))
    assert (place(stored), stored.schema.text) == ((2, 2), "x")


# Bad input


def test_a_text_that_is_no_unicode(registry):
    for bad in (schema("\ud800"), schema("x", metadata={"properties": {"a": "\ud800"}})):
        with pytest.raises(RegistryError) as refusal:
            registry.shard.job(Registration("a", bad))
        assert refusal.value.code == RegistryCode.INVALID_SCHEMA
        decision = registry.shard.register(Registration("a", bad))
        assert registry.code_of(decision) == RegistryCode.INVALID_SCHEMA


# Lookup by content


def looked_up(registry, subject, what, **options):
    given = schema(what) if isinstance(what, str) else what
    job = schema_job(registry.state, subject, given, normalize=False)
    return matching.looked_up(registry.state, subject, given, prepare(job), **options)


def test_a_schema_is_looked_up_by_its_content(registry):
    registry.register("a", "x")
    registry.register("a", "y")
    registry.register("b", "z")
    assert place(looked_up(registry, "a", " y")) == (2, 2)
    with pytest.raises(RegistryError) as refusal:
        looked_up(registry, "a", "z")
    assert refusal.value.code == RegistryCode.SCHEMA_NOT_FOUND
    with pytest.raises(RegistryError) as refusal:
        looked_up(registry, "c", "x")
    assert refusal.value.code == RegistryCode.SUBJECT_NOT_FOUND


def test_a_deleted_schema_is_looked_up_where_that_is_asked_for(registry):
    registry.register("a", "x")
    registry.register("a", "y")
    registry.run(registry.shard.delete_version("a", 1))
    assert place(looked_up(registry, "a", "x", deleted=True)) == (1, 1)
    with pytest.raises(RegistryError) as refusal:
        looked_up(registry, "a", "x")
    assert refusal.value.code == RegistryCode.SCHEMA_NOT_FOUND


def test_a_lookup_ignores_the_version_in_the_metadata(registry):
    registry.register("a", "x", version=1)
    assert place(looked_up(registry, "a", "x")) == (1, 1)


def test_a_lookup_without_metadata_finds_those_of_the_latest_version(registry):
    registry.register("a", schema("x", metadata={"properties": {"owner": "me"}}))
    assert place(looked_up(registry, "a", "x")) == (1, 1)


def test_a_schema_with_its_references_written_out_is_found(registry):
    registry.register("a", "x")
    registry.register("b", schema("y", ("n", "a", 1)))
    request = Registration("b", schema("xy"))
    job = registry.shard.job(request)
    assert [one.version for one in job.inlined] == [1]
    assert registry.run(registry.shard.register(request, job, Prepared("xy", same_as=1))).version == 1
    assert matching.looked_up(registry.state, "b", request.schema, Prepared("xy", same_as=1)).version == 1


def test_a_lookup_prefers_a_live_version(registry):
    registry.run(registry.shard.change_mode("a", Mode.IMPORT))
    registry.register("a", "x", id=1, version=1)
    registry.register("a", "x", id=1, version=2)
    registry.run(registry.shard.delete_version("a", 2))
    assert place(looked_up(registry, "a", "x", deleted=True)) == (1, 1)


def test_a_subject_without_live_versions_is_not_found(registry):
    registry.register("a", "x")
    registry.run(registry.shard.delete_subject("a"))
    with pytest.raises(RegistryError) as refusal:
        looked_up(registry, "a", "x")
    assert refusal.value.code == RegistryCode.SUBJECT_NOT_FOUND
    assert place(looked_up(registry, "a", "x", deleted=True)) == (1, 1)
