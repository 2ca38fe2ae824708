"""Decorators for handlers whose request needs a coordinator that may still be loading: they wait for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.context import Context

Handle = Callable[[Context, Any], Any]


def waits_for_group(
    groups_of: Callable[[Any], Sequence[str]] = lambda request: (request.group_id,),
) -> Callable[[Handle], Handle]:
    """For handlers whose request may come before its group is loaded."""
    return _waits(lambda context: context.services.groups.until_served, groups_of)


def waits_for_transactional_id(handle: Handle) -> Handle:
    return _waits(
        lambda context: context.services.transactions.service.until_served,
        lambda request: () if request.transactional_id is None else (request.transactional_id,),
    )(handle)


def _waits(
    until_served_of: Callable[[Context], Callable[[str], Awaitable[None] | None]],
    keys_of: Callable[[Any], Sequence[str]],
) -> Callable[[Handle], Handle]:
    def around(handle: Handle) -> Handle:
        def waiting(context: Context, request: Any) -> Any:
            until_served = until_served_of(context)
            waits = [wait for key in keys_of(request) if (wait := until_served(key)) is not None]
            return _handled_after(waits, handle, context, request) if waits else handle(context, request)

        return waiting

    return around


async def _handled_after(
    waits: Sequence[Awaitable[None]], handle: Handle, context: Context, request: Any
) -> Any:
    await asyncio.gather(*waits)
    return await response_of(handle(context, request))
