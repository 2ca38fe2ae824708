"""Every public name says what it is, with an example, and what its settings mean; the page is fresh."""

import builtins
import inspect
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import pytest

import tidelog
import tidelog.spark
import tidelog.testing
from tidelog.testing import pytest_plugin
from tools import python_reference
from tools.docstrings import Doc, read_docstring
from tools.pages import stale_pages
from tools.public_names import function_of, members, parameters, public

PUBLIC = list(public())
THINGS = dict(PUBLIC)
CODE = [
    *((name, thing) for name, thing in PUBLIC if not isinstance(thing, type)),
    *(
        (f"{name}.{each}", member)
        for name, kind in PUBLIC
        if isinstance(kind, type)
        for each, member in members(kind)
    ),
]
FIXTURES = {name for name in vars(pytest_plugin) if name.startswith("tidelog_")}
each_thing = pytest.mark.parametrize(("name", "thing"), PUBLIC, ids=[name for name, _ in PUBLIC])
each_function = pytest.mark.parametrize(("name", "member"), CODE, ids=[name for name, _ in CODE])


def doc_of(thing: Any) -> Doc:
    return read_docstring((thing if isinstance(thing, type) else function_of(thing)).__doc__)


def field_names(kind: type) -> list[str] | None:
    """Of an enum, a dataclass or a tuple."""
    if issubclass(kind, Enum):
        return [member.name for member in kind]
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(kind._fields) if issubclass(kind, tuple) and hasattr(kind, "_fields") else None


def test_the_page_is_fresh() -> None:
    assert not stale_pages(python_reference.PAGES), "run: make docs"


def test_the_page_names_all_that_is_public() -> None:
    expected = {*tidelog._MODULE_OF, *tidelog.testing.__all__, *tidelog.spark.__all__, *FIXTURES}
    assert [name for name, _ in PUBLIC] == list(dict.fromkeys(name for name, _ in PUBLIC))
    assert set(THINGS) == expected


@each_thing
def test_it_says_what_it_is(name: str, thing: Any) -> None:
    text = doc_of(thing).text
    assert text[0].isupper(), f"{name} begins with {text[:20]!r}"
    assert text.endswith("."), f"{name} ends with {text[-20:]!r}"


@each_thing
def test_what_is_made_or_called_has_an_example(name: str, thing: Any) -> None:
    is_value = isinstance(thing, type) and field_names(thing) is not None and not name.endswith("Config")
    is_error = isinstance(thing, type) and issubclass(thing, Exception)
    if not is_value and not is_error:
        example = doc_of(thing).example
        assert name in example
        compile(example, name, "exec")


@each_thing
def test_every_field_is_explained(name: str, thing: Any) -> None:
    expected = field_names(thing) if isinstance(thing, type) else None
    if expected is not None:
        assert list(doc_of(thing).attributes) == expected


@each_thing
def test_every_argument_of_a_constructor_is_explained(name: str, thing: Any) -> None:
    if isinstance(thing, type) and field_names(thing) is None and not issubclass(thing, Exception):
        made_by_users = doc_of(thing).args
        if made_by_users:
            assert list(made_by_users) == parameters(thing.__init__)
        else:
            assert name in MADE_BY_OTHERS


MADE_BY_OTHERS = ("Transaction", "AsyncTransaction", "Job", "Build")
"""A producer makes the first two, a queue makes jobs; `tidelog pipeline` makes the last."""


@each_function
def test_every_method_and_its_arguments_are_explained(name: str, member: Any) -> None:
    function = function_of(member)
    doc = read_docstring(function.__doc__)
    assert doc.text[:1].isupper(), name
    assert doc.text.endswith(".")
    expected = [] if name in FIXTURES else parameters(function)
    assert list(doc.args) == expected
    if doc.example:
        compile(doc.example, name, "exec")


@each_function
def test_errors_that_are_named_exist(name: str, member: Any) -> None:
    known = {*THINGS, *vars(builtins)}
    assert set(read_docstring(function_of(member).__doc__).raises) <= known


@pytest.mark.parametrize("kind", [tidelog.ProducerConfig, tidelog.ConsumerConfig, tidelog.AdminConfig])
def test_help_shows_the_shared_settings_too(kind: type) -> None:
    shown = inspect.getdoc(kind) or ""
    assert "bootstrap_servers: Brokers to contact first" in shown
    assert shown.index("bootstrap_servers:") < shown.index("extra:")
