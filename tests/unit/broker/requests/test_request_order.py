import struct

import pytest

from tidelog.broker.requests.request_order import may_overlap
from tidelog.wire.apis import ApiKey


def head(key: int, version: int) -> memoryview:
    return memoryview(bytearray(struct.pack(">hhi", key, version, 1)))


@pytest.mark.parametrize("key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.RAFT, ApiKey.FORWARD])
def test_what_may_be_under_way_together(key: ApiKey) -> None:
    assert may_overlap(head(key, 0))


@pytest.mark.parametrize(
    "key", [ApiKey.LIST_OFFSETS, ApiKey.DELETE_RECORDS, ApiKey.CREATE_TOPICS, ApiKey.SHARE_FETCH, 257, -1]
)
def test_everything_else_stands_alone(key: int) -> None:
    assert not may_overlap(head(key, 0))


def test_add_partitions_of_a_client_and_of_a_broker() -> None:
    assert not may_overlap(head(ApiKey.ADD_PARTITIONS_TO_TXN, 3))
    assert may_overlap(head(ApiKey.ADD_PARTITIONS_TO_TXN, 5))


def test_what_is_no_request_stands_alone() -> None:
    assert not may_overlap(memoryview(b"\0\0"))
