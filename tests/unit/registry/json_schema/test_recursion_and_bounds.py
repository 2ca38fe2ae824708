"""Schemas that refer to themselves, repeat themselves, or have more to compare than there is time for."""

import json
from typing import Any

import pytest

from tests.rigs.peak_memory import peak_bytes
from tidelog.registry.json_schema.comparing import findings
from tidelog.registry.json_schema.comparing.differences import DIFFERENCES_MAX, ENTRIES_MAX
from tidelog.registry.json_schema.parsing import JsonSchema, parse
from tidelog.registry.json_schema.paths import PATH_CHARS_MAX

S, N = {"type": "string"}, {"type": "number"}


def schema(value: Any) -> JsonSchema:
    return parse(json.dumps(value))


def kinds(before: JsonSchema, after: JsonSchema) -> list[str]:
    return [found.kind for found in after.incompatibilities(before)]


def tree(value: Any) -> JsonSchema:
    return schema(
        {
            "type": "object",
            "properties": {"value": value, "next": {"$ref": "#"}, "more": {"items": {"$ref": "#"}}},
        }
    )


def test_a_change_in_a_recursive_schema_is_found_once() -> None:
    assert kinds(tree(S), tree(S)) == []
    assert kinds(tree(S), tree(N)) == ["TYPE_CHANGED"]


def unions(ids: dict[str, str]) -> JsonSchema:
    """Every type has two properties that are any of all types."""
    anything = {"oneOf": [{"$ref": f"#/definitions/{name}"} for name in ids]}
    definitions = {
        name: {"type": "object", "properties": {"id": {"type": of}, "one": anything, "other": anything}}
        for name, of in ids.items()
    }
    return schema({"type": "object", "definitions": definitions, "properties": {"root": anything}})


def test_types_that_refer_to_each_other_are_compared_in_time() -> None:
    same = {f"T{index}": "string" for index in range(12)}
    assert kinds(unions(same), unions(same)) == []
    assert kinds(unions(same), unions({**same, "T3": "boolean"})) == ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]


def test_a_cycle_hides_no_incompatibility() -> None:
    """T0 leads to T2, and T2 to T0. T0 is met again while it is compared, and taken for compatible there."""

    def refers(of: str, to: str) -> Any:
        return {
            "type": "object",
            "properties": {"id": {"type": of}, "ref": {"oneOf": [{"$ref": f"#/definitions/{to}"}]}},
        }

    def root(zero: str, one: str) -> JsonSchema:
        definitions = {"T0": refers(zero, "T2"), "T1": refers(one, "T2"), "T2": refers("integer", "T0")}
        union = {"oneOf": [{"$ref": "#/definitions/T0"}, {"$ref": "#/definitions/T1"}]}
        return schema({"definitions": definitions, "properties": {"root": union}})

    assert kinds(root("integer", "boolean"), root("boolean", "number")) == [
        "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
    ]
    assert kinds(root("integer", "boolean"), root("integer", "boolean")) == []


def doubling(last: Any, depth: int = 400) -> JsonSchema:
    """Each definition has the next one twice: 2**400 ways lead to the last."""
    definitions = {
        f"d{index}": {"properties": {name: {"$ref": f"#/definitions/d{index + 1}"} for name in "ab"}}
        for index in range(depth)
    }
    return schema({"$ref": "#/definitions/d0", "definitions": {**definitions, f"d{depth}": last}})


def test_definitions_that_repeat_each_other_are_compared_once() -> None:
    assert kinds(doubling(S), doubling(S)) == []
    assert kinds(doubling(S), doubling(N)) == ["TYPE_CHANGED"] * DIFFERENCES_MAX


def test_paths_of_differences_share_their_steps() -> None:
    before, after = doubling(S, 800), doubling(N, 800)
    assert after.incompatibilities(after) == []  # what is read once stays
    assert before.incompatibilities(before) == []
    assert peak_bytes(lambda: after.incompatibilities(before)) < 8 << 20
    for found in after.incompatibilities(before):
        assert "'#/.../properties/" in found.description
        assert len(found.description) < 2 * PATH_CHARS_MAX


def test_members_of_unions_do_not_copy_long_names() -> None:
    def members(of: Any) -> JsonSchema:
        name = "x" * 4000
        return schema({"oneOf": [{"title": f"{index}", "properties": {name: of}} for index in range(60)]})

    before, after = members(S), members(N)
    assert peak_bytes(lambda: after.incompatibilities(before)) < 10 << 20


def test_dependencies_count_as_work() -> None:
    def members(of: str) -> JsonSchema:
        names = {f"n{index}": [of] for index in range(200)}
        return schema(
            {
                "oneOf": [
                    {"type": "object", "dependencies": {**names, of: [f"m{index}"]}} for index in range(60)
                ]
            }
        )

    assert kinds(members("a"), members("b")) == ["TOO_COMPLEX"]


def test_a_long_line_of_definitions_needs_no_stack() -> None:
    def line(last: Any) -> JsonSchema:
        definitions = {
            f"d{index}": {"items": {"$ref": f"#/definitions/d{index + 1}"}} for index in range(5000)
        }
        return schema({"$ref": "#/definitions/d0", "definitions": {**definitions, "d5000": last}})

    assert kinds(line(S), line(N)) == ["TYPE_CHANGED"]


def test_a_long_line_of_definitions_is_followed_a_few_times_however_many_lead_to_it() -> None:
    def line(last: Any, depth: int) -> JsonSchema:
        definitions = {
            f"d{index}": {"items": {"$ref": f"#/definitions/d{index + 1}"}} for index in range(depth)
        }
        properties = {f"p{index}": {"$ref": "#/definitions/d0"} for index in range(200)}
        return schema({"properties": properties, "definitions": {**definitions, f"d{depth}": last}})

    for depth, fewest, most in ((100, DIFFERENCES_MAX, DIFFERENCES_MAX), (ENTRIES_MAX // 10, 1, 10)):
        assert fewest <= len(kinds(line(S, depth), line(N, depth))) <= most


def union(members: int, of: Any) -> JsonSchema:
    return schema({"oneOf": [{"title": f"t{index}", "properties": {"a": of}} for index in range(members)]})


def test_large_unions_that_stay_as_they_are_cost_little() -> None:
    assert kinds(union(2000, S), union(2000, S)) == []
    assert kinds(union(2000, S), union(1999, S)) == ["SUM_TYPE_NARROWED"]


def test_a_comparison_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = union(60, S), union(60, N)
    assert kinds(before, after) == ["COMBINED_TYPE_SUBSCHEMAS_CHANGED"]
    monkeypatch.setattr(findings, "WORK_MAX", 5000)
    (found,) = after.incompatibilities(before)
    assert found.kind == "TOO_COMPLEX"
    assert "NONE" in found.description


def test_expressions_of_clients_cost_no_more_than_they_may() -> None:
    patterns = {f"(a|aa|b)*{index}$": S for index in range(500)}
    before = schema({"additionalProperties": False, "patternProperties": patterns})
    names = {"ab" * 500 + f"{index}x": S for index in range(500)}
    after = schema({"additionalProperties": False, "properties": names})
    assert set(kinds(before, after)) <= {"TOO_COMPLEX"}
