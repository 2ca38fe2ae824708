"""What a broker says of itself when it answers."""

import pytest

from tidelog.cli.up.banner import banner


def facts(id: int, voters: list[int]) -> dict[str, object]:
    return {
        "node_id": id,
        "bootstrap_servers": "localhost:9092",
        "data": ["/data"],
        "durability": "fsync",
        "voters": voters,
    }


@pytest.mark.parametrize(
    ("id", "voters", "said"),
    [
        (1, [1, 2, 3], "Broker      1, a voter; the voters are 1, 2, 3"),
        (4, [1, 2, 3], "Broker      4, without a vote; the voters are 1, 2, 3"),
        (4, [1], "Broker      4, without a vote; the voter is 1"),
    ],
)
def test_who_votes(id: int, voters: list[int], said: str) -> None:
    assert said in banner(facts(id, voters), [], None)


def test_a_broker_alone_says_nothing_of_votes() -> None:
    assert "vote" not in banner(facts(1, [1]), [], None)


def test_the_address_of_metrics_is_shown() -> None:
    urls = ["http://localhost:9404/metrics"]
    shown = banner(facts(1, [1]) | {"metrics": urls}, [], None)
    assert "  Metrics     http://localhost:9404/metrics\n" in shown
