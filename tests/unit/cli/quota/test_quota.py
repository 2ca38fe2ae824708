"""`tidelog quota`: what the options mean, what is sent, and what is shown."""

import json
from typing import Any

import click
import pytest

from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.cli.quota import commands
from tidelog.cli.quota.entities import entity_of, entity_text
from tidelog.cli.quota.in_force import in_force
from tidelog.cli.quota.limits import LIMITS, limit_text, name_of, parse_limit
from tidelog.security.quotas.entity import DEFAULT, QuotaEntity, QuotaKey
from tidelog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from tidelog.wire.messages.describe_client_quotas import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

PRODUCER, CONSUMER, TIME, MUTATIONS, CONNECTIONS = (limit.key for limit in LIMITS)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (PRODUCER, "10MiB/s", 10 * 1024 * 1024),
        (PRODUCER, "1.5 MB", 1_500_000),
        (CONSUMER, "4096", 4096),
        (TIME, "12.5%", 12.5),
        (TIME, "200", 200),
        (MUTATIONS, "5/s", 5),
        (CONNECTIONS, "20", 20),
    ],
)
def test_limits_as_people_write_them(key: QuotaKey, text: str, value: float) -> None:
    [limit] = [limit for limit in LIMITS if limit.key is key]
    assert parse_limit(limit, text) == value


@pytest.mark.parametrize("text", ["fast", "10 parsecs", "0", "-5", "", "nan"])
def test_limits_that_are_none(text: str) -> None:
    for limit in LIMITS:
        with pytest.raises(click.BadParameter, match="is not a limit"):
            parse_limit(limit, text)


def test_limits_as_people_read_them() -> None:
    assert limit_text(PRODUCER, 10 * 1024 * 1024) == "10 MiB/s"
    assert limit_text(CONSUMER, 1500.0) == "1500 B/s"
    assert limit_text(TIME, 12.5) == "12.5 %"
    assert limit_text(CONNECTIONS, 20.0) == "20/s"
    assert name_of(TIME) == "request-percentage"


def test_entities() -> None:
    assert entity_of("alice", "etl", None, ()) == QuotaEntity("alice", "etl")
    assert entity_of("alice", None, None, ("client-ids",)) == QuotaEntity("alice", DEFAULT)
    assert entity_of(None, None, None, ("ips",)) == QuotaEntity(ip=DEFAULT)
    assert entity_text(QuotaEntity("alice", DEFAULT)) == "user alice, client id (default)"


@pytest.mark.parametrize(
    "given",
    [
        (None, None, None, ()),
        ("alice", None, None, ("users",)),
        ("alice", None, "192.0.2.1", ()),
        (None, None, "192.0.2.1", ("client-ids",)),
    ],
)
def test_entities_that_are_none(given: Any) -> None:
    with pytest.raises(click.UsageError):
        entity_of(*given)


def test_what_is_in_force_and_who_shares_it() -> None:
    quotas = {
        QuotaEntity("alice"): {PRODUCER: 10.0},
        QuotaEntity("alice", "etl"): {CONSUMER: 20.0},
        QuotaEntity(client_id=DEFAULT): {TIME: 30.0},
        QuotaEntity(ip=DEFAULT): {CONNECTIONS: 5.0},
    }
    rows = {row.key: (row.limit, row.shared_by) for row in in_force(quotas, "alice", "etl", "192.0.2.1")}
    assert rows == {
        PRODUCER: (10.0, "all client ids of alice"),
        CONSUMER: (20.0, "client id etl of alice"),
        TIME: (30.0, "all users of client id etl"),
        MUTATIONS: (None, None),
        CONNECTIONS: (5.0, "all clients at 192.0.2.1"),
    }
    assert in_force(quotas, None, "etl", None)[0].limit is None


class Cluster:
    """Alice has a quota; changes are written down, and answered with `code`."""

    def __init__(self, code: int = 0) -> None:
        self.code = code
        self.changed: list[tuple[dict, dict]] = []

    def __call__(self, _session: object) -> "Cluster":
        return self

    def repeat(self, ask: Any, _is_passing: Any) -> Any:
        return ask()

    def ask(self, request: Any) -> Any:
        if isinstance(request, AlterClientQuotasRequest):
            [entry] = request.entries
            self.changed.append(
                (
                    {part.entity_type: part.entity_name for part in entry.entity},
                    {op.key: None if op.remove else op.value for op in entry.ops},
                )
            )
            answer = AlterClientQuotasResponseEntryData(error_code=self.code, error_message="No.")
            return AlterClientQuotasResponse(entries=[answer])
        alice = EntityData(entity_type="user", entity_name="alice")
        values = [ValueData(key=PRODUCER.value, value=1024.0), ValueData(key="of the future", value=1.0)]
        return DescribeClientQuotasResponse(entries=[EntryData(entity=[alice], values=values)])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(commands, "DirectCluster", made)
    return made


def test_set(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "--user",
        "alice",
        "--default",
        "client-ids",
        "--producer-bytes",
        "1KiB/s",
        "--mutations",
        "5",
    ]
    assert run(["quota", "set", *arguments]) == Exit.OK
    assert cluster.changed == [
        ({"user": "alice", "client-id": None}, {PRODUCER.value: 1024.0, MUTATIONS.value: 5.0})
    ]
    assert "user alice, client id (default): producer-bytes 1 KiB/s, mutations 5/s" in capsys.readouterr().out


def test_remove_all_or_one(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quota", "remove", "--user", "alice"]) == Exit.OK
    assert run(["quota", "remove", "--user", "alice", "--producer-bytes"]) == Exit.OK
    assert cluster.changed == [({"user": "alice"}, {PRODUCER.value: None})] * 2
    assert run(["quota", "remove", "--user", "alice", "--mutations"]) == Exit.NOT_FOUND
    assert run(["quota", "remove", "--user", "bob"]) == Exit.NOT_FOUND
    assert "tidelog quota list" in capsys.readouterr().err


def test_list(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quota", "list"]) == Exit.OK
    assert "user alice" in capsys.readouterr().out
    assert run(["quota", "list", "--user", "alice", "--json"]) == Exit.OK
    shown = json.loads(capsys.readouterr().out)
    assert shown[PRODUCER.value] == {
        "limit": 1024.0,
        "set_for": {"user": "alice"},
        "shared_by": "all client ids of alice",
    }
    assert shown[CONSUMER.value] is None
    assert run(["quota", "list", "--user", "bob"]) == Exit.OK
    assert capsys.readouterr().out.count("unlimited") == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["set"],
        ["set", "--user", "alice"],
        ["set", "--producer-bytes", "1KiB/s"],
        ["set", "--user", "alice", "--producer-bytes", "fast"],
        ["set", "--user", "alice", "--default", "planets", "--mutations", "1"],
        ["remove"],
    ],
    ids=" ".join,
)
def test_wrong_calls(arguments: list[str], cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["quota", *arguments]) == Exit.USAGE
    assert capsys.readouterr().err
    assert cluster.changed == []


def test_a_refusal_names_the_entity(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.code = 42
    assert run(["quota", "set", "--user", "alice", "--mutations", "1"]) == Exit.REFUSED
    assert "user alice" in capsys.readouterr().err
