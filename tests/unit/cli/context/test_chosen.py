"""Which of flags, contexts and variables decides, and that errors name places, not values."""

from pathlib import Path

import pytest

from tidelog.cli.context.chosen import GivenConnection, choose
from tidelog.cli.exits import CliError, Exit

FILE = """\
current: dev
contexts:
  dev: {bootstrap.servers: 'dev:9092', client.id: dev}
  prod:
    bootstrap.servers: prod:9093
    security.protocol: sasl_ssl
    sasl.password: ${env:PASSWORD}
    sasl.username: ${file:user}
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    directory = tmp_path / "tidelog"
    directory.mkdir()
    (directory / "contexts.yaml").write_text(FILE)
    (directory / "contexts.yaml").chmod(0o600)
    (directory / "user").write_text("ann\n")
    return {"XDG_CONFIG_HOME": str(tmp_path), "PASSWORD": "hunter2"}


def test_the_current_context_counts_where_no_address_is_given(environment: dict[str, str]) -> None:
    chosen = choose(GivenConnection(), environment)
    assert (chosen.servers, chosen.properties, chosen.context) == ("dev:9092", {"client.id": "dev"}, "dev")
    assert choose(GivenConnection(servers="a:1"), environment).properties == {}
    assert choose(GivenConnection(servers_variable="a:1"), environment).properties == {}
    assert choose(GivenConnection(servers_variable="a:1"), environment).servers == "a:1"


def test_the_variable_is_stronger_than_the_current_context_and_weaker_than_an_address(
    environment: dict[str, str],
) -> None:
    environment["TIDELOG_CONTEXT"] = "prod"
    assert choose(GivenConnection(), environment).servers == "prod:9093"
    assert choose(GivenConnection(servers_variable="a:1"), environment).servers == "prod:9093"
    assert choose(GivenConnection(servers="a:1"), environment).properties == {}, "no password goes elsewhere"
    assert choose(GivenConnection(context="dev"), environment).servers == "dev:9092"


def test_a_named_context_goes_together_with_flags(environment: dict[str, str]) -> None:
    flags = GivenConnection("a:1", "b:1", "prod", {"client.id": "me", "sasl.password": "other"})
    chosen = choose(flags, environment)
    assert chosen.servers == "a:1"
    assert chosen.properties == {
        "security.protocol": "sasl_ssl",
        "sasl.username": "ann",
        "sasl.password": "other",
        "client.id": "me",
    }
    assert (
        choose(GivenConnection(context="prod", properties={"bootstrap.servers": "x:1"}), environment)[0]
        == "x:1"
    )


def test_secrets_are_resolved_but_not_shown(environment: dict[str, str]) -> None:
    chosen = choose(GivenConnection(context="prod"), environment)
    assert chosen.properties["sasl.password"] == "hunter2"
    assert chosen.written["sasl.password"] == "${env:PASSWORD}"
    assert "hunter2" not in repr(chosen)


def test_a_variable_without_a_value_is_refused_with_file_and_line(environment: dict[str, str]) -> None:
    del environment["PASSWORD"]
    with pytest.raises(CliError) as refusal:
        choose(GivenConnection(context="prod"), environment)
    assert "contexts.yaml, line 7, sasl.password: the environment variable PASSWORD" in refusal.value.message
    with pytest.raises(CliError, match=r"-X sasl\.password: the environment variable NONE is not set"):
        choose(GivenConnection("a:1", properties={"sasl.password": "${env:NONE}"}), environment)


def test_a_context_that_does_not_exist(environment: dict[str, str]) -> None:
    with pytest.raises(CliError) as refusal:
        choose(GivenConnection(context="live"), environment)
    assert refusal.value.code is Exit.NOT_FOUND
    assert refusal.value.cause == "the contexts are: dev, prod."


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    chosen = choose(GivenConnection(), {"XDG_CONFIG_HOME": str(tmp_path)})
    assert (chosen.servers, chosen.properties, chosen.context) == ("localhost:9092", {}, None)
