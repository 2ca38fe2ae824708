"""Loads the state of a share partition from the persister, when the group first reads the partition here.

Fetches wait meanwhile. While the coordinator of the state cannot be reached, the load is tried again.
"""

import asyncio
import logging

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.ports import StateStore
from tidelog.broker.shares.start_offset import first_offset, within_log
from tidelog.broker.shares.state_messages import (
    error_in,
    read_request,
    start_request,
    state_in,
    truncate_request,
)
from tidelog.broker.shares.state_saver import BACKOFF_SECONDS, BACKOFF_SECONDS_MAX, FENCED
from tidelog.shares.states import NO_START_OFFSET, ShareState

log = logging.getLogger("tidelog.broker.shares")


async def load_state(led: LedShare, store: StateStore, reset: str, now_ms: TimestampMs) -> ShareState:
    """KafkaError where the group has no state, or this broker does not lead the partition any more."""
    backoff = BACKOFF_SECONDS
    while True:
        if not led.is_current:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the partition has another leader")
        try:
            return await _load(led, store, reset, now_ms)
        except KafkaError as error:
            if error.code in FENCED:
                raise
            log.warning(
                "the state of share group %s at %s-%d is not loaded, next try in %g s: %s",
                *(led.place.group_id, led.partition.topic, led.partition.index, backoff, error),
            )
        await asyncio.sleep(backoff)
        backoff = min(backoff * 2, BACKOFF_SECONDS_MAX)


async def _load(led: LedShare, store: StateStore, reset: str, now_ms: TimestampMs) -> ShareState:
    state = state_in(await store.read(read_request(led.place, led.leader_epoch)))
    if isinstance(state, KafkaError):
        raise state
    if state.start_offset == NO_START_OFFSET:
        start = first_offset(led.partition, reset, now_ms)
        # Stored before the first record is delivered: after a crash `latest` would be a later offset.
        request = start_request(led.place, state.state_epoch, led.leader_epoch, start)
        error = error_in(await store.write(request))
        if error is not None:
            raise error
        state = state._replace(start_offset=start)
    log_end = led.partition.log.end
    within = within_log(state, log_end)
    if within is not state:
        # Stored before others get the lost offsets: the next load must not take them for finished.
        request = truncate_request(led.place, within, led.leader_epoch, log_end)
        error = error_in(await store.write(request))
        if error is not None:
            raise error
        log.warning(
            "share group %s was beyond the end of %s-%d, which is %d: it goes on there",
            *(led.place.group_id, led.partition.topic, led.partition.index, log_end),
        )
    return within
