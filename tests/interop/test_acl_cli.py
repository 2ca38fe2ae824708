"""`tidelog acl` and `tidelog role` against a broker with an authorizer."""

import json
import shlex
from collections.abc import Callable, Iterator

import pytest

from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.testing import Broker

Tidelog = Callable[..., str]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Broker]:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with Broker(settings=settings) as broker:
        yield broker


@pytest.fixture
def tidelog(guarded: Broker, capsys: pytest.CaptureFixture[str]) -> Tidelog:
    def command(line: str, code: int = Exit.OK) -> str:
        capsys.readouterr()
        assert run(["-b", guarded.bootstrap_servers, *shlex.split(line)]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return command


def test_a_role_from_its_creation_to_its_end(tidelog: Tidelog) -> None:
    created = tidelog("role create analyst --read 'orders.*' --group 'analyst-*'")
    assert "READ on topic: names that begin with 'orders.'" in created
    assert "already" in tidelog("role create analyst --read orders", Exit.EXISTS)
    assert "to no principal" in tidelog("role show analyst")
    tidelog("role grant analyst --to User:reports --to User:night")
    shown = json.loads(tidelog("role show analyst --json"))
    assert {(acl["principal"], acl["resource_name"], acl["pattern_type"]) for acl in shown["acls"]} == {
        (principal, name, "PREFIXED")
        for principal in ("User:reports", "User:night")
        for name in ("orders.", "analyst-")
    }
    assert "(role analyst)" in tidelog("acl explain User:reports read topic orders.eu")
    tidelog("acl explain User:reports write topic orders.eu", Exit.FAILED)

    # What a role allows does not end with an ACL, and the command says so.
    tidelog("acl add --principal User:night --operation read --topic payroll")
    removed = tidelog("acl remove --principal User:night")
    assert removed.count("Removed:") == 1
    assert removed.count("Stays:") == 2
    assert "tidelog role revoke analyst --from User:night" in removed
    assert "only roles do" in tidelog("acl remove --principal User:night", Exit.NOT_FOUND)

    tidelog("role create analyst --replace --write orders")
    tidelog("role revoke analyst --from User:night")
    tidelog("acl explain User:reports write topic orders")
    tidelog("acl explain User:night write topic orders", Exit.FAILED)
    assert "analyst" in tidelog("role list")
    tidelog("role delete analyst")
    tidelog("role show analyst", Exit.NOT_FOUND)
    tidelog("acl explain User:reports write topic orders", Exit.FAILED)


def test_acls_from_the_first_to_the_last(tidelog: Tidelog) -> None:
    tidelog("acl add --principal User:shop --operation Write --operation create --topic orders")
    tidelog("acl add --principal User:shop --operation all --topic 'eu-*' --deny --host 192.0.2.7")
    tidelog("acl add --principal User:shop --operation IdempotentWrite --cluster")
    rules = json.loads(tidelog("acl list --principal User:shop --json"))
    assert {(rule["operation"], rule["resource_name"], rule["permission"]) for rule in rules} == {
        ("WRITE", "orders", "ALLOW"),
        ("CREATE", "orders", "ALLOW"),
        ("ALL", "eu-", "DENY"),
        ("IDEMPOTENT_WRITE", "kafka-cluster", "ALLOW"),
    }
    assert "a DENY beats" in tidelog("acl explain User:shop read topic eu-1 --host 192.0.2.7", Exit.FAILED)
    tidelog("acl remove --principal User:shop --operation create --topic orders")
    assert "CREATE" not in tidelog("acl list --topic orders")
    assert "WRITE" in tidelog("acl list --topic orders")
    assert tidelog("acl remove --principal User:shop").count("Removed:") == 3
    tidelog("acl remove --principal User:shop", Exit.NOT_FOUND)


def test_wildcards_that_mean_nothing_are_refused(tidelog: Tidelog) -> None:
    refused = tidelog("acl add --principal User:shop --operation read --topic 'or*rs'", Exit.USAGE)
    assert "no other wildcards" in refused
    assert "There is no create on a group" in tidelog(
        "acl add --principal User:shop --operation create --group g", Exit.USAGE
    )
