"""Transactions that go wrong get the answers of Apache Kafka, request by request and version by version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.bad_transactions import SCENARIOS, tell
from tests.faults.raw_client import RawClient
from tidelog.testing import Broker

pytestmark = pytest.mark.usefixtures("no_failures")

ANSWERS = (Path(__file__).parent / "transaction_answers.txt").read_text().splitlines()

OURS = {
    # A coordinator that hears UNKNOWN_SERVER_ERROR asks for ever; this one it understands.
    "markers | an earlier producer": "INVALID_PRODUCER_EPOCH",
    # No offset of such a group can be committed, so that it is refused at once.
    "offsets_without_a_transaction | add offsets of no group": "INVALID_GROUP_ID",
    # A zombie aborts the transaction of its heir there, and is told only then that it is one.
    "a_producer_that_comes_again | the heir commits": "NONE",
}
"""Where we answer otherwise, and why."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"group.initial.rebalance.delay.ms": 0}) as running:
        yield running


@pytest.mark.parametrize("name", SCENARIOS)
def test_answers(client: RawClient, name: str) -> None:
    expected = []
    for line in ANSWERS:
        scenario, step, answer = line.split(" | ")
        if scenario == name:
            expected.append(f"{scenario} | {step} | {OURS.get(f'{scenario} | {step}', answer)}")
    assert tell(client, name) == expected
