"""Waits until a change of a share partition is saved, for as long as this broker leads it."""

import asyncio
from functools import partial

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ports import Clock
from tidelog.broker.shares.led_share import LedShare


async def saved(led: LedShare, clock: Clock) -> None:
    """KafkaError if the share partition is dropped before: then another leader decides what was saved."""
    share = led.share
    version = share.unsaved_version
    while share.saved_version < version:
        if led.error is not None:
            raise led.error
        answer: asyncio.Future[KafkaError | None] = asyncio.get_running_loop().create_future()
        if led.saver.when_saved(clock.monotonic(), partial(_resolve, answer)):
            return
        led.changed()  # looks at the clock, too: a save that takes long ends the wait, and it begins again
        error = await answer
        if error is not None and error.code is not ErrorCode.REQUEST_TIMED_OUT:
            raise error


def _resolve(answer: "asyncio.Future[KafkaError | None]", error: KafkaError | None) -> None:
    if not answer.done():
        answer.set_result(error)
