"""Decisions on batches: what has to be asked, and which records are to blame."""

from tidelog.registry.validation.checking import check
from tidelog.registry.validation.naming import Side
from tidelog.registry.validation.questions import NAMES_MAX, Question, Rule, from_json, to_json
from tidelog.storage.schema_checks import SchemaChecks, SubjectStrategy
from tidelog.wire.fronts import read_fronts
from tidelog.wire.record import Record, write_batch

VALUES = SchemaChecks(None, SubjectStrategy.TOPIC)
BOTH = SchemaChecks(SubjectStrategy.RECORD, SubjectStrategy.TOPIC)
VALUE_RULE = Rule("orders", Side.VALUE, SubjectStrategy.TOPIC)
KEY_RULE = Rule("orders", Side.KEY, SubjectStrategy.RECORD)


def named(number):
    return b"\0" + number.to_bytes(4, "big")


def records(*values, key=None):
    return read_fronts(write_batch([Record(number, 0, key, value) for number, value in enumerate(values)]))


def known(*pairs):
    return lambda rule, name: (rule, name) in pairs


def test_known_schemas_pass():
    found = check(records(named(1), None, named(1)), "orders", VALUES, known((VALUE_RULE, 1)))
    assert found == ((), {})


def test_unknown_schemas_are_asked_for_once():
    found = check(records(named(1), named(2), named(2)), "orders", VALUES, known((VALUE_RULE, 1)))
    assert found == ((Question(VALUE_RULE, (2,)),), {})


def test_keys_and_values_have_rules_of_their_own():
    found = check(records(named(1), key=named(1)), "orders", BOTH, known((VALUE_RULE, 1)))
    assert found.questions == (Question(KEY_RULE, (1,)),)


def test_answers_decide():
    batch = records(named(1), named(2), b"plain", named(3))
    answers = {VALUE_RULE: {1: None, 2: "is unknown", 3: None}}
    found = check(batch, "orders", VALUES, known(), answers)
    assert found.questions == ()
    assert list(found.problems) == [1, 2]
    assert found.problems[1] == "is unknown"
    assert "names no schema" in found.problems[2]


def test_a_record_without_a_name_is_refused_unasked():
    found = check(records(b"plain", named(1)), "orders", VALUES, known((VALUE_RULE, 1)))
    assert list(found.problems) == [0]
    assert found.questions == ()


def test_a_batch_that_names_too_many_unknown_schemas():
    batch = records(named(1), *map(named, range(100, 101 + NAMES_MAX)))
    found = check(batch, "orders", VALUES, known((VALUE_RULE, 1)))
    assert found.questions == ()
    assert 0 not in found.problems
    assert len(found.problems) == NAMES_MAX + 1


def test_questions_travel_as_json():
    question = Question(KEY_RULE, (7, bytes(range(16))))
    assert from_json(to_json(question)) == question
