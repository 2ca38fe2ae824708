"""Settings as people write and read them."""

import json

import pytest

from tidelog.cli.config.table import explained, hide_secrets, human_values
from tidelog.cli.main import run


def test_human_values_become_what_the_protocol_carries() -> None:
    written = {
        "retention.ms": "7d",
        "segment.bytes": "1 GiB",
        "preallocate": "yes",
        "cleanup.policy": "compact",
    }
    assert human_values("topic", written) == {
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "preallocate": "true",
        "cleanup.policy": "compact",
    }


def test_what_is_unknown_or_bad_goes_to_the_broker_as_it_is() -> None:
    written = {"retention.ms": "soon", "someone.elses.setting": "7d"}
    assert human_values("topic", written) == written


def test_a_name_of_both_scopes_has_two_pages() -> None:
    assert [page["scope"] for page in explained("durability")] == ["broker", "topic"]
    assert explained("no.such.setting") == []


def test_explain_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "explain", "retention.ms"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("retention.ms, a topic setting\n")
    assert "604800000" in out
    assert "log.retention.ms" in out
    assert all(len(line) <= 100 for line in out.splitlines())


def test_explain_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "explain", "retention.ms", "--json"]) == 0
    [page] = json.loads(capsys.readouterr().out)
    assert (page["name"], page["default"], page["unit"]) == ("retention.ms", "604800000", "ms")


def test_secrets_are_not_shown_again() -> None:
    name = "listener.name.clients.ssl.key.password"
    shown = hide_secrets({name: "tell-no-one", "ssl.keystore.key": None, "retention.ms": "1"})
    assert shown == {name: "(hidden)", "ssl.keystore.key": None, "retention.ms": "1"}
