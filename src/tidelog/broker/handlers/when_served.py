"""Decorators for handlers whose request needs a coordinator that may still be loading: they wait for it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tidelog.broker.coordinators.runtime.waits import LOADING_SECONDS
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import fits_in_a_turn, names_in_turns

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
            until_served, keys = until_served_of(context), keys_of(request)
            if not fits_in_a_turn(keys):
                return _handled_in_turns(until_served, keys, handle, context, request)
            waits = [wait for key in keys if (wait := until_served(key)) is not None]
            return _handled_after(waits, handle, context, request) if waits else handle(context, request)

        return waiting

    return around


async def _handled_in_turns(
    until_served: Callable[[str], Awaitable[None] | None],
    keys: Sequence[str],
    handle: Handle,
    context: Context,
    request: Any,
) -> Any:
    """Waits for one after the other, as all of them load meanwhile, and no longer than for one."""
    try:
        async with asyncio.timeout(LOADING_SECONDS):
            async for piece in names_in_turns(keys, len):
                for key in piece:
                    if (wait := until_served(key)) is not None:
                        await wait
    except TimeoutError:
        pass
    return await response_of(handle(context, request))


async def _handled_after(
    waits: Sequence[Awaitable[None]], handle: Handle, context: Context, request: Any
) -> Any:
    await asyncio.gather(*waits)
    return await response_of(handle(context, request))
