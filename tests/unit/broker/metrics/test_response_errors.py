"""Error codes in responses: what the made functions find is what a slow walk over every field finds."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.rigs.random_messages import random_message
from tidelog.broker.metrics.response_errors import CODES, counting_errors
from tidelog.wire.apis import API, ApiSpec
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


def found_in(response: Message) -> set[int]:
    found: set[int] = set()
    write = counting_errors(type(response), lambda number, message: [number, message], found.update)  # type: ignore[arg-type, list-item]
    assert write(5, response) == [5, response]
    return found


@pytest.mark.parametrize("spec", API.values(), ids=lambda spec: spec.name)
def test_every_code_of_every_response_is_found(spec: ApiSpec) -> None:
    rng = Random(7)
    for _ in range(20):
        response = random_message(spec.response_class(), spec.max_version, rng)
        assert found_in(response) == set(walked(response))


def test_codes_of_partitions_are_found() -> None:
    partitions = [PartitionData(error_code=code) for code in (0, 3, 6, 3)]
    response = FetchResponse(error_code=70, responses=[FetchableTopicResponse(partitions=partitions)])
    assert found_in(response) == {70, 3, 6}
    assert found_in(FetchResponse()) == set()
