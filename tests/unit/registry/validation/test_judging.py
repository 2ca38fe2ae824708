"""The registry's verdicts: is a schema registered under the subject that a topic's records belong to?"""

import pytest

from tests.rigs.virtual_time import run
from tidelog.registry.content import content_hash
from tidelog.registry.preparing import Source
from tidelog.registry.schema import Schema, SchemaType
from tidelog.registry.state.records import config_record, schema_record
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion
from tidelog.registry.validation.judging import judge
from tidelog.registry.validation.naming import Side
from tidelog.registry.validation.questions import Question, Rule
from tidelog.registry.validation.record_names import record_names
from tidelog.storage.schema_checks import SubjectStrategy

ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[]}'
PROTO = 'syntax = "proto3";\npackage shop;\nmessage Order { message Line {} }\nmessage Bill {}\n'


def stored(subject, id_, text=ORDER, kind=SchemaType.AVRO, deleted=False):
    schema = Schema(kind, text)
    return StoredVersion(subject, 1, id_, schema, deleted, content_hash(schema))


def verdicts(versions, strategy, *names, side=Side.VALUE, aliases=None):
    state = RegistryState()
    for subject, other in (aliases or {}).items():
        state.apply(*config_record(subject, {"alias": other}))
    for version in versions:
        state.apply(*schema_record(version, deleted=version.deleted))

    async def names_of(source):
        return record_names(source)

    return run(judge(state, Question(Rule("orders", side, strategy), names), names_of))


def test_the_subject_of_the_topic():
    versions = [stored("orders-value", 1), stored("orders-key", 2, '"string"'), stored("other-value", 1)]
    found = verdicts(versions, SubjectStrategy.TOPIC, 1, 2, 3)
    assert found[1] is None
    assert found[2] == "schema id 2 of the value is registered, but not under the subject orders-value"
    assert found[3] == "schema id 3 of the value is not registered: register the schema first"
    assert verdicts(versions, SubjectStrategy.TOPIC, 2, side=Side.KEY) == {2: None}


def test_by_guid():
    version = stored("orders-value", 1)
    assert verdicts([version], SubjectStrategy.TOPIC, version.content) == {version.content: None}
    (why,) = verdicts([version], SubjectStrategy.TOPIC, bytes(16)).values()
    assert "is not registered" in why


def test_a_deleted_subject_does_not_count():
    (why,) = verdicts([stored("orders-value", 1, deleted=True)], SubjectStrategy.TOPIC, 1).values()
    assert "not under the subject orders-value" in why


def test_a_subject_that_is_an_alias_has_the_schemas_of_the_other_too():
    versions = [stored("orders-value", 1), stored("sales-value", 2, '"string"'), stored("other", 3, '"int"')]
    found = verdicts(versions, SubjectStrategy.TOPIC, 1, 2, 3, aliases={"orders-value": "sales-value"})
    assert (found[1], found[2]) == (None, None)
    assert "not under the subject orders-value" in found[3]
    named = [stored("sales", 1)]
    assert verdicts(named, SubjectStrategy.RECORD, 1, aliases={"shop.Order": "sales"}) == {1: None}


def test_other_contexts_have_other_ids():
    (why,) = verdicts([stored(":.staging:orders-value", 1)], SubjectStrategy.TOPIC, 1).values()
    assert "is not registered" in why


@pytest.mark.parametrize(
    ("strategy", "subject", "passes"),
    [
        (SubjectStrategy.RECORD, "shop.Order", True),
        (SubjectStrategy.RECORD, "Order", False),
        (SubjectStrategy.RECORD, "orders-value", False),
        (SubjectStrategy.TOPIC_RECORD, "orders-shop.Order", True),
        (SubjectStrategy.TOPIC_RECORD, "bills-shop.Order", False),
        (SubjectStrategy.TOPIC_RECORD, "shop.Order", False),
    ],
)
def test_the_subject_of_the_record(strategy, subject, passes):
    (why,) = verdicts([stored(subject, 1)], strategy, 1).values()
    assert (why is None) is passes


def test_a_schema_that_has_no_record_name():
    (why,) = verdicts([stored("string", 1, '"string"')], SubjectStrategy.RECORD, 1).values()
    assert "which it has none of" in why


@pytest.mark.parametrize(
    ("kind", "text", "names"),
    [
        (SchemaType.AVRO, ORDER, ["shop.Order"]),
        (SchemaType.AVRO, '["null","string"]', []),
        (SchemaType.JSON, '{"title": "Order"}', ["Order"]),
        (SchemaType.JSON, "true", []),
        (SchemaType.PROTOBUF, PROTO, ["shop.Order", "shop.Bill", "shop.Order.Line"]),
    ],
)
def test_record_names(kind, text, names):
    assert record_names(Source(kind, text)) == names
