"""Which registry is asked, with which password."""

from pathlib import Path

import click
import pytest

from tidelog.blocking.registry.errors import NotARegistry, RegistryRefused, RegistryUnavailable
from tidelog.blocking.registry.options import options_of_url
from tidelog.cli.context.store import Contexts, SavedContext, contexts_path, write_contexts
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.commands import schema
from tidelog.cli.schema.connection import VARIABLE, default_registry, explained, find_registry
from tidelog.cli.session import Session

SAVED = {
    "bootstrap.servers": "prod:9092",
    "schema.registry.url": "https://saved",
    "basic.auth.user.info": "ann:pw",
}


@pytest.fixture(autouse=True)
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    write_contexts(contexts_path(), Contexts("prod", {"prod": SavedContext(SAVED), "none": SavedContext({})}))


def found(session: Session, url: str | None = None, **environment: str) -> tuple[str, str | None] | None:
    made = find_registry(session, url, environment)
    return None if made is None else (made.urls[0], made.user)


def test_the_current_context_is_the_weakest() -> None:
    assert found(Session()) == ("https://saved", "ann")
    assert found(Session(), **{VARIABLE: "http://env"}) == ("http://env", None)
    assert found(Session(), "http://flag", **{VARIABLE: "http://env"}) == ("http://flag", None)


def test_a_named_context_goes_together_with_an_address() -> None:
    session = Session()
    session.given_context = "prod"
    assert found(session, "http://flag") == ("http://flag", "ann")
    assert found(session, **{VARIABLE: "http://env"}) == ("https://saved", "ann")


def test_a_property_of_the_command_line_counts_most() -> None:
    session = Session(properties={"schema.registry.url": "http://x", "basic.auth.user.info": "bob:pw"})
    assert found(session, **{VARIABLE: "http://env"}) == ("http://x", "bob")


def test_without_a_name_it_is_port_8081_of_the_brokers() -> None:
    session = Session("a:9092,b:9093,a:9094,[::1]:1")
    assert found(session) is None
    assert default_registry(session).urls == ("http://a:8081", "http://b:8081", "http://[::1]:8081")
    secure = Session("a:9092", properties={"security.protocol": "SASL_SSL"})
    assert default_registry(secure).urls == ("https://a:8081",)


def test_a_bad_url_is_a_mistake_of_the_command() -> None:
    with pytest.raises(CliError, match="is no URL of a schema registry") as caught:
        find_registry(Session(), "ftp://x", {})
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (RegistryRefused(404, 40401, "Subject 's' not found."), Exit.NOT_FOUND, "not found"),
        (RegistryRefused(404, 404, "HTTP 404 Not Found"), Exit.UNREACHABLE, "nothing at this path"),
        (RegistryRefused(401, 401, "Unauthorized"), Exit.DENIED, "Unauthorized."),
        (RegistryRefused(409, 40901, "incompatible"), Exit.FAILED, "(40901)"),
        (RegistryRefused(422, 42201, "no schema"), Exit.REFUSED, "(42201)"),
        (RegistryUnavailable("no schema registry answers"), Exit.UNREACHABLE, "No schema registry"),
        (NotARegistry("it is a web shop"), Exit.UNREACHABLE, "It is a web shop."),
    ],
)
def test_errors_have_exit_codes(error: Exception, code: Exit, says: str) -> None:
    with pytest.raises(CliError) as caught, explained(options_of_url("http://x")):
        raise error
    assert caught.value.code is code
    assert says in caught.value.message


def test_an_error_that_begins_with_a_url_leaves_it_as_it_is() -> None:
    with (
        pytest.raises(CliError, match=r"^http://x answers 404") as caught,
        explained(options_of_url("http://x")),
    ):
        raise NotARegistry("http://x answers 404")
    assert caught.value.code is Exit.UNREACHABLE


def test_a_subject_has_a_name() -> None:
    with pytest.raises(click.BadParameter, match="a subject has a name"):
        schema.main(["delete", "", "--yes"], standalone_mode=False)
