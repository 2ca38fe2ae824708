"""Every handler asks the authorizer what the table says, and refuses a client that lacks a permission."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rigs.authorized_cluster import ADMIN, CLIENT_HOST, Asked, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.all_samples import SAMPLES
from tests.rigs.sample_requests.sample import TOPIC, Sample
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers import HANDLERS
from tidelog.broker.requests.forwarding import BETWEEN_BROKERS, SHARE_STATE
from tidelog.broker.security.operations import OPERATIONS, REFUSED_WITH, Effect
from tidelog.security.acls.acl import WILDCARD
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tools.authorization_reference import PAGE, page

WALKER = "User:walker"
ROUNDS_MAX = 6
SETTINGS = {"transaction_two_phase_commit_enable": "true", "delegation_token_secret_key": "a secret"}
"""So that every API is on."""
REFUSALS = set(REFUSED_WITH.values())


def samples_by_key() -> dict[ApiKey, list[Sample]]:
    by_key: dict[ApiKey, list[Sample]] = defaultdict(list)
    for sample in SAMPLES:
        by_key[sample.key].append(sample)
    return by_key


def test_every_api_has_an_entry_and_a_sample() -> None:
    assert HANDLERS.keys() <= OPERATIONS.keys()
    assert samples_by_key().keys() == {key for key in HANDLERS if OPERATIONS[key]}


def test_requests_between_brokers_ask_for_cluster_action() -> None:
    asking = {
        key for key, asked in OPERATIONS.items() if [q.operation.name for q in asked] == ["CLUSTER_ACTION"]
    }
    assert asking == BETWEEN_BROKERS | SHARE_STATE


def test_the_page_shows_the_table() -> None:
    assert Path(PAGE).read_text(encoding="utf-8") == page(), "docs/authorization.md is stale; run: make docs"


@pytest.mark.parametrize("key", samples_by_key(), ids=lambda key: key.name)
def test_a_handler_asks_what_the_table_says(key: ApiKey) -> None:
    asked: set[tuple[Any, Any]] = set()

    async def life(cluster: AuthorizedCluster) -> None:
        topic_id = await cluster.create_topic(TOPIC)
        for sample in samples_by_key()[key]:
            asked.update(await walk(cluster, sample.for_topic(topic_id)))
            await cluster.revoke(WALKER)

    with_cluster(life, **SETTINGS)
    assert asked == {(question.operation, question.resource_type) for question in OPERATIONS[key]}


async def walk(cluster: AuthorizedCluster, sample: Sample) -> set[tuple[Any, Any]]:
    """Send the sample, first without any permission, then again with each that it lacked, until none is."""
    for earlier in sample.before:
        assert not any(error_codes(await cluster.ask(ADMIN, earlier.key, earlier.request, earlier.version)))
    questions = cluster.record(WALKER)
    kinds: set[tuple[Any, Any]] = set()
    for _ in range(ROUNDS_MAX):
        questions.clear()
        codes = await answer_of(cluster, sample)
        asked_now = list(questions)
        lacking = [asked for asked in asked_now if not is_allowed(cluster, asked)]
        kinds |= {(asked.operation, asked.resource_type) for asked in asked_now}
        expected = {code for asked in lacking for code in refusals_of(sample, asked)}
        if not expected:
            assert not codes & REFUSALS, f"{sample} is refused, but lacks only {lacking}"
            return kinds
        assert codes & REFUSALS, f"{sample} is not refused, but lacks {lacking}"
        assert codes & REFUSALS <= expected, f"{sample} is refused with {codes} for {lacking}"
        for asked in lacking:
            if refusals_of(sample, asked):
                name = asked.name or WILDCARD
                await cluster.allow(WALKER, asked.operation, asked.resource_type, name)
    raise AssertionError(f"{sample} asks for ever more: {questions}")


def is_allowed(cluster: AuthorizedCluster, asked: Asked) -> bool:
    authorizer = cluster.services().authorizer
    assert authorizer is not None
    who = WALKER, CLIENT_HOST, asked.operation, asked.resource_type
    return authorizer.allows_on_any(*who) if asked.name is None else authorizer.allows(*who, asked.name)


def refusals_of(sample: Sample, asked: Asked) -> set[ErrorCode]:
    """The errors that the table names for a question; none where the answer is only filtered."""
    if sample.hides:
        return set()
    return {
        question.refused_with
        for question in OPERATIONS[sample.key]
        if question[:2] == asked[:2] and question.effect is Effect.REFUSES
    }


async def answer_of(cluster: AuthorizedCluster, sample: Sample) -> set[int]:
    """The error codes in the answer. A request without a response is refused by closing the connection."""
    try:
        answer = await cluster.ask(
            cluster.connection(WALKER, sample.listener), sample.key, sample.request, sample.version
        )
    except ConnectionError:
        return {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    return set(error_codes(answer))


def error_codes(message: Any) -> Iterator[int]:
    if isinstance(message, list):
        for item in message:
            yield from error_codes(item)
    elif isinstance(message, Message):
        for field in message.__struct_fields__:
            value = getattr(message, field)
            if field in ("error_code", "partition_error_code", "acknowledge_error_code"):
                yield value
            else:
                yield from error_codes(value)
