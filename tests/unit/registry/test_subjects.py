"""Names of subjects and their contexts."""

import pytest

from tidelog.registry import subjects
from tidelog.registry.errors import RegistryCode, RegistryError


@pytest.mark.parametrize(
    ("subject", "context", "name"),
    [
        ("orders-value", ".", "orders-value"),
        (":.staging:orders-value", ".staging", "orders-value"),
        (":.staging:", ".staging", ""),
        (":.staging", ".staging", ""),
        (":.:orders", ".", "orders"),
        ("a:b", ".", "a:b"),
        (":.c:a:b", ".c", "a:b"),
        (":x", ".", ":x"),
        ("", ".", ""),
    ],
)
def test_a_subject_has_a_context_and_a_name(subject, context, name):
    assert subjects.split(subject) == (context, name)


def test_a_reference_is_meant_in_the_context_of_its_schema():
    assert subjects.qualified("a", ":.c:parent") == ":.c:a"
    assert subjects.qualified("a", "parent") == "a"
    assert subjects.qualified(":.d:a", ":.c:parent") == ":.d:a"


def test_a_subject_is_stored_in_one_spelling():
    assert subjects.checked_subject(":.:a") == "a"
    assert subjects.checked_scope(":.:") is None
    assert subjects.checked_scope(":.staging") == ":.staging:"
    assert subjects.in_context("a", ".staging") == ":.staging:a"
    assert subjects.in_context(":.:a", ".") == "a"


@pytest.mark.parametrize(
    "subject", ["a\nb", "\x85", "__GLOBAL", "__EMPTY", ":.__GLOBAL:a", "\ud800", "x" * 5000]
)
def test_what_no_schema_can_be_registered_under(subject):
    with pytest.raises(RegistryError) as refusal:
        subjects.checked_subject(subject)
    assert refusal.value.code == RegistryCode.INVALID_SUBJECT


def test_the_context_of_all_contexts_has_settings_but_no_schemas():
    assert subjects.checked_scope(subjects.GLOBAL_SCOPE) == subjects.GLOBAL_SCOPE


@pytest.mark.parametrize("given", ["staging", ".staging", ":.staging:", ":.staging"])
def test_a_context_has_several_spellings(given):
    assert subjects.checked_context(given) == ".staging"


def test_a_context_has_no_colon():
    with pytest.raises(RegistryError):
        subjects.checked_context("a:b")
