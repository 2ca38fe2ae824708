"""Settings of a broker of a cluster that cannot be right."""

import pytest

from tidelog.base.config.config import load
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.up.broker_checks import check_membership

VOTERS = "1@host-1:9092,2@host-2:9092,3@host-3:9092"


def check(**settings: str) -> None:
    check_membership(load(None, {}, {name.replace("_", "."): text for name, text in settings.items()}))


@pytest.mark.parametrize(
    "settings",
    [
        {"node_id": "2", "listeners": "PLAINTEXT://host-2:9092"},
        # The list may name it differently than clients do.
        {"node_id": "2", "listeners": "PLAINTEXT://10.0.0.2:9092"},
        # One more broker than voters.
        {"node_id": "4", "listeners": "PLAINTEXT://host-4:9092"},
    ],
)
def test_what_is_right(settings: dict[str, str]) -> None:
    check(controller_quorum_voters=VOTERS, **settings)


@pytest.mark.parametrize(
    ("settings", "message", "attempt"),
    [
        ({}, "No voters are set", "tidelog up"),
        ({"node_id": "1"}, "No voters are set", "controller.quorum.voters=1@host-1:9092"),
        ({"controller_quorum_voters": VOTERS}, "node.id is not set", "one of 1, 2, 3"),
        (
            {"controller_quorum_voters": VOTERS, "node_id": "5", "listeners": "PLAINTEXT://host-2:9092"},
            "says that broker 2 is at host-2:9092, but this is broker 5",
            "node.id=2",
        ),
        (
            {"controller_quorum_voters": VOTERS, "node_id": "2", "listeners": "PLAINTEXT://host-2:9093"},
            "broker 2 is at host-2:9092, but it listens at port 9093",
            "listeners=PLAINTEXT://host-2:9092",
        ),
    ],
)
def test_what_is_wrong(settings: dict[str, str], message: str, attempt: str) -> None:
    with pytest.raises(CliError) as caught:
        check(**settings)
    assert message in caught.value.message
    assert attempt in (caught.value.attempt or "")
    assert caught.value.code is Exit.USAGE
