import struct

import pytest

from tidelog.broker.requests.request_order import ALONE, overlap_group
from tidelog.wire.apis import ApiKey


def head(key: int, version: int) -> memoryview:
    return memoryview(bytearray(struct.pack(">hhi", key, version, 1)))


@pytest.mark.parametrize("key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.RAFT, ApiKey.FORWARD])
def test_what_may_be_under_way_together(key: ApiKey) -> None:
    assert overlap_group(head(key, 0)) == overlap_group(head(ApiKey.FETCH, 0)) != ALONE


def test_commits_of_offsets_may_be_under_way_together_but_with_nothing_else() -> None:
    assert overlap_group(head(ApiKey.OFFSET_COMMIT, 9)) not in (ALONE, overlap_group(head(ApiKey.FETCH, 0)))


@pytest.mark.parametrize(
    "key", [ApiKey.LIST_OFFSETS, ApiKey.DELETE_RECORDS, ApiKey.CREATE_TOPICS, ApiKey.SHARE_FETCH, 257, -1]
)
def test_everything_else_stands_alone(key: int) -> None:
    assert overlap_group(head(key, 0)) == ALONE


def test_add_partitions_of_a_client_and_of_a_broker() -> None:
    assert overlap_group(head(ApiKey.ADD_PARTITIONS_TO_TXN, 3)) == ALONE
    assert overlap_group(head(ApiKey.ADD_PARTITIONS_TO_TXN, 5)) != ALONE


def test_what_is_no_request_stands_alone() -> None:
    assert overlap_group(memoryview(b"\0\0")) == ALONE
