"""Long lists leave the event loop to others again and again, and hidden subjects out."""

import pytest

from tests.rigs.local_registry import LocalRegistry, body_of, record, versions
from tidelog.broker.registry.api.pauses import WORK_IN_TURN
from tidelog.registry.state import lookups
from tidelog.registry.state.records import schema_record
from tidelog.registry.state.stored import StoredVersion

MANY = 2 * WORK_IN_TURN + 10


@pytest.fixture(scope="module")
def many():
    """One schema under many subjects, as the keys of topics have it."""
    registry = LocalRegistry()
    registry.register("topic-0-key", '"string"')
    [first] = registry.shard.state.subjects["topic-0-key"].values()
    for number in range(1, MANY):
        stored = StoredVersion(f"topic-{number}-key", 1, 1, first.schema, False, first.content)
        registry.shard.replay(*schema_record(stored))
    return registry


@pytest.mark.parametrize("path", ["/subjects", "/contexts", "/schemas", "/schemas/ids/1/versions"])
def test_others_have_turns_during_a_long_list(many, path):
    before = many.turns
    got = many.get(path)
    assert got.status == 200
    assert many.turns >= before + 2
    assert len(got.json) == {"/subjects": MANY, "/contexts": 1, "/schemas": 1000}.get(path, MANY)


def test_a_page_far_into_the_list_of_schemas(many):
    names = many.get("/subjects").json
    shown = many.get("/schemas", f"offset={MANY - 2}&limit=5").json
    assert [one["subject"] for one in shown] == names[-2:]


def test_a_schema_by_its_id_does_not_look_at_all_its_subjects(many, monkeypatch):
    monkeypatch.delattr(lookups, "places_of")
    guid = many.get("/schemas/ids/1").json["guid"]
    for path in (f"/schemas/guids/{guid}", f"/schemas/guids/{guid}/ids"):
        assert many.get(path).status == 200


def test_a_list_of_schemas_that_is_too_large_is_never_in_memory(monkeypatch):
    monkeypatch.setattr("tidelog.broker.registry.api.schemas.ANSWER_BYTES_MAX", 1000)
    registry = LocalRegistry()
    for number in range(20):
        registry.register(f"s{number}", record("a", name=f"R{number}"))
    got = registry.get("/schemas")
    assert (got.status, got.code) == (422, 422)
    assert "offset and limit" in got.json["message"]
    assert len(registry.get("/schemas", "limit=3").json) == 3


class OnlyMine:
    """Stands for an authorizer."""

    def allows(self, principal: str, host: str, operation: object, kind: object, name: str) -> bool:
        return principal == "User:admin" or name == "mine"


def test_schemas_of_hidden_subjects_that_refer_to_one_are_left_out():
    registry = LocalRegistry()
    registry.register("mine", {"type": "fixed", "name": "F", "size": 1})
    refers = [{"name": "F", "subject": "mine", "version": 1}]
    registry.register("a-secret", {"type": "array", "items": "F"}, references=refers)
    registry.security.authorizer = OnlyMine()
    path = f"{versions('mine')}/1/referencedby"
    assert registry.get(path, principal="User:admin").json == [2]
    assert registry.get(path, principal="User:bob").json == []


def test_a_schema_by_its_id_names_no_subject_that_is_hidden():
    registry = LocalRegistry()
    for subject in ("a-secret", "mine"):
        registry.register(subject, record("a"))
    registry.security.authorizer = OnlyMine()
    got = registry.get("/schemas/ids/1", "subject=unknown", principal="User:bob").json
    assert got["subject"] == "mine"
    assert registry.get("/schemas/ids/1/subjects", principal="User:bob").json == ["mine"]


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 10**30])
@pytest.mark.parametrize("place", ["id", "version", "reference"])
def test_a_number_of_more_than_32_bits_is_a_bad_request(number, place):
    registry = LocalRegistry()
    body = body_of('"string"')
    body |= (
        {"references": [{"name": "n", "subject": "s", "version": number}]}
        if place == "reference"
        else {place: number}
    )
    assert registry.post(versions("s"), body).code == 400
