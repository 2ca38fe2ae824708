"""Error codes in responses: what the made functions find is what a slow walk over every field finds."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.rigs.random_messages import random_message
from tidelog.broker.metrics.response_errors import CODES, errors_of
from tidelog.wire.apis import API, ApiKey, ApiSpec
from tidelog.wire.message import Message
from tidelog.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData


def walked(value: Any) -> Iterator[int]:
    if isinstance(value, list):
        for item in value:
            yield from walked(item)
    elif isinstance(value, Message):
        for field in value.__struct_fields__:
            inner = getattr(value, field)
            if field in CODES and inner:
                yield inner
            elif isinstance(inner, list):
                yield from walked(inner)


@pytest.mark.parametrize("spec", API.values(), ids=lambda spec: spec.name)
def test_every_code_of_every_response_is_found(spec: ApiSpec) -> None:
    find, rng = errors_of(spec.response_class()), Random(7)
    for _ in range(20):
        response = random_message(spec.response_class(), spec.max_version, rng)
        found = () if find is None else find(response)
        assert sorted(found) == sorted(walked(response))


def test_codes_of_partitions_are_found() -> None:
    find = errors_of(API[ApiKey.FETCH].response_class())
    assert find is not None
    partitions = [PartitionData(error_code=code) for code in (0, 3, 6, 3)]
    response = FetchResponse(error_code=70, responses=[FetchableTopicResponse(partitions=partitions)])
    assert find(response) == (70, 3, 6, 3)
    assert find(FetchResponse()) == ()
