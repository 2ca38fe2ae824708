"""Records of `_schemas`, byte for byte as Confluent's registry writes them."""

import pytest

from tidelog.registry.mode import Mode
from tidelog.registry.schema import Reference, Schema, SchemaType
from tidelog.registry.state import records
from tidelog.registry.state.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    HighestIdsKey,
    ModeKey,
    SchemaKey,
    UnreadableError,
    decode_key,
    encode_key,
)
from tidelog.registry.state.stored import Place, StoredVersion

ODD = 'größe " \\'
KEYS = {
    b'{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}': SchemaKey("orders-value", 1),
    '{"keytype":"SCHEMA","subject":"größe \\" \\\\","version":7,"magic":1}'.encode(): SchemaKey(ODD, 7),
    b'{"keytype":"CONFIG","magic":0}': ConfigKey(None),
    b'{"keytype":"MODE","magic":0}': ModeKey(None),
    b'{"keytype":"CONFIG","subject":"a","magic":0}': ConfigKey("a"),
    b'{"keytype":"MODE","subject":":.c:","magic":0}': ModeKey(":.c:"),
    b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}': DeleteSubjectKey("a"),
    b'{"keytype":"CLEAR_SUBJECT","magic":0}': ClearSubjectKey(None),
    b'{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}': ContextKey("default", ".c"),
    b'{"magic":0,"keytype":"NOOP"}': HighestIdsKey(),
}


@pytest.mark.parametrize(("data", "key"), KEYS.items(), ids=[type(key).__name__ for key in KEYS.values()])
def test_keys(data, key):
    assert decode_key(data) == key
    assert encode_key(key) == data


def test_keys_of_all_subjects_in_older_registries():
    assert decode_key(b'{"keytype":"CONFIG","subject":null,"magic":0}') == ConfigKey(None)
    assert decode_key(b'{"keytype":"MODE","subject":null,"magic":0}') == ModeKey(None)


def test_a_noop_of_confluents_registry_has_another_key_than_the_highest_ids():
    assert decode_key(b'{"keytype":"NOOP","magic":0}') is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b'"SCHEMA"',
        b"{}",
        b'{"keytype":"ASSOC","subject":"a"}',
        b'{"keytype":["SCHEMA"]}',
        b'{"keytype":"SCHEMA","subject":"a"}',
        b'{"keytype":"SCHEMA","subject":"a","version":true}',
        b'{"keytype":"SCHEMA","subject":"a","version":0}',
        b'{"keytype":"SCHEMA","subject":"a","version":99999999999}',
        b'{"keytype":"SCHEMA","subject":5,"version":1}',
        b'{"keytype":"CONFIG","subject":5}',
        b'{"keytype":"CONTEXT"}',
        b"[" * 100_000,
    ],
)
def test_keys_that_say_nothing(data):
    with pytest.raises(UnreadableError):
        decode_key(data)


def stored(**fields):
    schema = Schema(fields.pop("type", SchemaType.AVRO), fields.pop("text", '"int"'), **fields)
    record = records.schema_record(StoredVersion("a", 2, 5, schema, False, b""))
    return record, schema


def test_the_value_of_a_plain_schema_is_what_every_version_of_confluents_registry_reads():
    record, schema = stored()
    assert record.value == b'{"subject":"a","version":2,"id":5,"schema":"\\"int\\"","deleted":false}'
    assert records.decode_schema(SchemaKey("a", 2), record.value).schema == schema


def test_a_schema_with_everything():
    record, schema = stored(
        type=SchemaType.PROTOBUF,
        references=(Reference("n.proto", "n", 3),),
        metadata={"properties": {"owner": "å"}},
        rule_set={"domainRules": [{"name": "r", "type": "CEL", "disabled": False}]},
    )
    read = records.decode_schema(SchemaKey("a", 2), record.value)
    assert (read.place, read.id, read.deleted, read.schema) == (Place("a", 2), 5, False, schema)
    assert (
        b'"schemaType":"PROTOBUF","references":[{"name":"n.proto","subject":"n","version":3}]' in record.value
    )


def test_a_value_of_confluents_newest_registry():
    value = (
        b'{"subject":"a","version":1,"id":3,"md5":"7Dn1Xg==","schemaType":"JSON","references":[],"metadata":null,'
        b'"ruleSet":null,"schema":"{}","deleted":true,"offset":4,"ts":170000,"later":[]}'
    )
    read = records.decode_schema(SchemaKey("a", 1), value)
    assert (read.id, read.deleted, read.schema) == (3, True, Schema(SchemaType.JSON, "{}"))


@pytest.mark.parametrize(
    "value",
    [
        b"null",
        b"no",
        b"{}",
        b'{"id":1}',
        b'{"id":-1,"schema":"x"}',
        b'{"id":1,"schema":5}',
        b'{"id":1,"schema":"x","schemaType":"THRIFT"}',
        b'{"id":1,"schema":"x","references":5}',
        b'{"id":1,"schema":"x","references":[5]}',
        b'{"id":1,"schema":"x","references":[{"name":"n"}]}',
        b'{"id":1,"schema":"x","metadata":5}',
        b'{"id":1,"schema":"x","metadata":{"tags":5}}',
        b'{"id":1,"schema":"x","ruleSet":{"domainRules":5}}',
        b'{"id":1,"schema":"x","ruleSet":{"domainRules":[{"params":{"a":5}}]}}',
        b'{"id":1,"schema":"\\ud800"}',
    ],
)
def test_values_that_are_no_schema(value):
    with pytest.raises(UnreadableError):
        records.decode_schema(SchemaKey("a", 1), value)


def test_configurations_and_modes():
    everywhere = records.config_record(None, {"compatibilityLevel": "FULL"}).value
    assert everywhere == b'{"compatibilityLevel":"FULL"}'
    own = records.config_record("a", {"normalize": True}).value
    assert own == b'{"subject":"a","normalize":true}'
    assert records.decode_config(own) == {"normalize": True}
    foreign = b'{"compatibilityLevel":"NONE","alias":null,"offset":1}'
    assert records.decode_config(foreign) == {"compatibilityLevel": "NONE"}
    assert records.mode_record("a", Mode.IMPORT).value == b'{"subject":"a","mode":"IMPORT"}'
    assert records.decode_mode(b'{"mode":"READONLY"}') is Mode.READONLY
    with pytest.raises(UnreadableError):
        records.decode_mode(b'{"mode":"ASLEEP"}')


@pytest.mark.parametrize(
    "value",
    [
        b'{"compatibilityLevel":"SOMEWHAT"}',
        b'{"compatibilityLevel":["FULL"]}',
        b'{"alias":7}',
        b'{"compatibilityGroup":{}}',
        b'{"defaultMetadata":5}',
        b'{"defaultMetadata":{"tags":5}}',
        b'{"overrideMetadata":{"properties":{"a":5}}}',
        b'{"overrideMetadata":{"sensitive":5}}',
        b'{"defaultRuleSet":{"domainRules":5}}',
        b'{"overrideRuleSet":{"domainRules":["x"]}}',
        b'{"overrideRuleSet":{"domainRules":[{"name":5}]}}',
    ],
)
def test_values_that_are_no_configuration(value):
    with pytest.raises(UnreadableError):
        records.decode_config(value)


def test_a_configuration_of_another_registry():
    foreign = b'{"compatibilityLevel":"full","compatibilityPolicy":"LOGICAL","later":[1]}'
    read = {"compatibilityLevel": "FULL", "compatibilityPolicy": "LOGICAL", "later": [1]}
    assert records.decode_config(foreign) == read


def test_the_other_values():
    assert records.delete_subject_record(Place("a", 4)).value == b'{"subject":"a","version":4}'
    assert records.decode_delete_subject(b'{"subject":"a","version":4}') == 4
    assert records.context_record(".c").value == b'{"tenant":"default","context":".c"}'
    ids = records.highest_ids_record({".c": 2, ".": 7}).value
    assert records.decode_highest_ids(ids) == {".": 7, ".c": 2}
    with pytest.raises(UnreadableError):
        records.decode_highest_ids(b'{"highestIds":{".":"7"}}')
