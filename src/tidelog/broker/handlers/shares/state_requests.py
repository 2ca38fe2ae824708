"""Requests to the share coordinator, which only brokers send: those of all five APIs are served alike.

They are advertised, as Kafka does; a listener for clients refuses them, also from a broker's principal.
"""

import asyncio
from typing import Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.coordinator_apis import StateApi, asked_in


def serve(context: Context, api: StateApi, request: Any) -> "Any | asyncio.Future[Any]":
    asked = list(asked_in(request))
    if not context.comes_from_broker():
        refused = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        return api.response_of((place, api.result_of(place.partition, refused)) for place, _ in asked)
    if not request.group_id or any(not topic.partitions for topic in request.topics):
        return api.response()  # as Kafka answers
    states = context.services.share_states
    answers = [api.run_at(states, place, data) for place, data in asked]
    waiting = [answer for answer in answers if isinstance(answer, asyncio.Future)]
    if waiting:
        return _when_all(api, asked, answers, waiting)
    return _response(api, asked, answers)


async def _when_all(
    api: StateApi, asked: list[Any], answers: list[Any], waiting: "list[asyncio.Future[Any]]"
) -> Any:
    await asyncio.wait(waiting)
    given = [answer.result() if isinstance(answer, asyncio.Future) else answer for answer in answers]
    return _response(api, asked, given)


def _response(api: StateApi, asked: list[Any], answers: list[Any]) -> Any:
    return api.response_of(
        (place, api.result_of(place.partition, answer))
        for (place, _), answer in zip(asked, answers, strict=True)
    )
