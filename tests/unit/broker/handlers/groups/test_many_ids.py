"""Requests that name many groups or transactions, or long ids: others have their turns meanwhile."""

import asyncio
from typing import Any

import pytest

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.persister import FakePersister
from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.shares.describe_share_group_offsets import GROUPS_AT_ONCE
from tidelog.broker.turns import CHARS_PER_PIECE, NAMES_PER_PIECE
from tidelog.coordination import placement
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from tidelog.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest
from tidelog.wire.messages.streams_group_describe import StreamsGroupDescribeRequest

IDS = {
    "many": [f"group-{number}" for number in range(400)],
    "long": [f"{number}" + "g" * 8000 for number in range(20)],
}
ABSENT = {ErrorCode.GROUP_ID_NOT_FOUND}


def offsets_of(ids: list[str]) -> list[OffsetFetchRequestGroup]:
    return [OffsetFetchRequestGroup(group_id=one, topics=None) for one in ids]


def share_offsets_of(ids: list[str]) -> list[DescribeShareGroupOffsetsRequestGroup]:
    return [DescribeShareGroupOffsetsRequestGroup(group_id=one, topics=None) for one in ids]


REQUESTS: dict[ApiKey, tuple[Any, str, set[ErrorCode]]] = {
    ApiKey.FIND_COORDINATOR: (
        lambda ids: FindCoordinatorRequest(coordinator_keys=ids),
        "coordinators",
        {ErrorCode.NONE},
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (
        lambda ids: ConsumerGroupDescribeRequest(group_ids=ids, include_authorized_operations=True),
        "groups",
        ABSENT,
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: (lambda ids: StreamsGroupDescribeRequest(group_ids=ids), "groups", ABSENT),
    ApiKey.SHARE_GROUP_DESCRIBE: (lambda ids: ShareGroupDescribeRequest(group_ids=ids), "groups", ABSENT),
    ApiKey.DESCRIBE_GROUPS: (lambda ids: DescribeGroupsRequest(groups=ids), "groups", ABSENT),
    ApiKey.DELETE_GROUPS: (lambda ids: DeleteGroupsRequest(groups_names=ids), "results", ABSENT),
    ApiKey.OFFSET_FETCH: (
        lambda ids: OffsetFetchRequest(groups=offsets_of(ids)),
        "groups",
        {ErrorCode.NONE},
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        lambda ids: DescribeShareGroupOffsetsRequest(groups=share_offsets_of(ids)),
        "groups",
        {ErrorCode.NONE},
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        lambda ids: DescribeTransactionsRequest(transactional_ids=ids),
        "transaction_states",
        {ErrorCode.TRANSACTIONAL_ID_NOT_FOUND},
    ),
}


class Turns:
    """Counts hashed characters from one turn of the loop to the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self.chars = self.names = self.most_names = 0
        self._place = placement.partition_of_key

        def counted(key: str, partitions: int) -> int:
            self.chars += len(key)
            self.names += 1
            return self._place(key, partitions)

        monkeypatch.setattr("tidelog.broker.coordinators.runtime.service.partition_of_key", counted)

    async def watch(self, work: Any) -> Any:
        self.most = self.most_names = 0
        task = asyncio.ensure_future(work)
        while not task.done():
            self.chars = self.names = 0
            await asyncio.sleep(0)
            self.most, self.most_names = max(self.most, self.chars), max(self.most_names, self.names)
        return task.result()


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("api", REQUESTS)
def test_others_have_turns(monkeypatch: pytest.MonkeyPatch, api: ApiKey, kind: str) -> None:
    ids = IDS[kind]
    request_of, field, errors = REQUESTS[api]

    async def life(cluster: AuthorizedCluster) -> None:
        services: Any = cluster.services()
        services.persister = FakePersister()
        await cluster.create_topic("orders")
        for key_type in (0, 1):
            first = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["first"])
            await cluster.ask(ADMIN, ApiKey.FIND_COORDINATOR, first)
        await cluster.until(lambda: not services.groups.is_loading, "groups are served")
        watched = Turns(monkeypatch)
        answer: Message = await watched.watch(cluster.ask(ADMIN, api, request_of(ids)))
        answered = getattr(answer, field)
        assert len(answered) == len(ids)
        assert {ErrorCode.of(one.error_code) for one in answered} == errors
        # Handlers hash an id twice at most, and a turn ends one piece and begins the next.
        names = GROUPS_AT_ONCE if api is ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS else NAMES_PER_PIECE
        assert 0 < watched.most <= 3 * max(CHARS_PER_PIECE, *map(len, ids))
        assert watched.most_names <= 3 * names

    with_cluster(life)


def test_groups_that_move_while_others_are_deleted_are_not_called_unknown() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        services: Any = cluster.services()
        first = FindCoordinatorRequest(key_type=0, coordinator_keys=["first"])
        await cluster.ask(ADMIN, ApiKey.FIND_COORDINATOR, first)
        await cluster.until(lambda: not services.groups.is_loading, "groups are served")
        ids = IDS["many"][: 2 * NAMES_PER_PIECE]
        deleting = asyncio.ensure_future(
            cluster.ask(ADMIN, ApiKey.DELETE_GROUPS, DeleteGroupsRequest(groups_names=ids))
        )
        await asyncio.sleep(0)
        for served in {services.groups.of(one) for one in ids}:
            served.close()
        answer = await deleting
        assert {ErrorCode.of(one.error_code) for one in answer.results} == {ErrorCode.NOT_COORDINATOR}

    with_cluster(life)
