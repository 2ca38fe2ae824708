"""APIs that the protocol knows and this broker does not offer are refused in the form of their answers."""

from typing import Any

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers import HANDLERS
from tidelog.broker.requests.not_offered import refusal_of
from tidelog.wire.apis import API, FIRST_INTERNAL, ApiKey
from tidelog.wire.frame import read_response, response_writer
from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest

MISSING = [key for key in API if key not in HANDLERS and key < FIRST_INTERNAL]
BETWEEN_BROKERS = {83, 84, 85, 86, 87}
"""The state of share groups, which only their coordinators ask for."""


def answered(key: int, version: int, request: Any) -> Any:
    refuse = refusal_of(API[key])
    assert refuse is not None
    parts = response_writer(key, version)(7, refuse(None, request))  # type: ignore[arg-type]
    number, answer = read_response(key, version, b"".join(bytes(part) for part in parts)[4:])
    assert number == 7
    return answer


@pytest.mark.parametrize("key", [key for key in MISSING if key not in BETWEEN_BROKERS])
def test_every_answer_says_that_the_api_is_not_there(key: int) -> None:
    spec = API[key]
    for version in range(spec.min_version, spec.max_version + 1):
        answer = answered(key, version, spec.request_class()())
        wanted = ErrorCode.UNSUPPORTED_VERSION
        assert getattr(answer, "error_code", wanted) == wanted


def test_an_error_for_each_thing_that_was_asked_for() -> None:
    asked = ShareGroupDescribeRequest(group_ids=["a", "b"])
    groups = answered(ApiKey.SHARE_GROUP_DESCRIBE, 1, asked).groups
    assert [(group.group_id, group.error_code) for group in groups] == [("a", 35), ("b", 35)]
    assert "ShareGroupDescribe is not offered" in groups[0].error_message


@pytest.mark.parametrize("key", sorted(BETWEEN_BROKERS))
def test_what_has_no_room_for_an_error_is_not_answered(key: int) -> None:
    assert refusal_of(API[key]) is None
