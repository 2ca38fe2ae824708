"""Loads the state of a share partition from the persister, when the group first reads the partition here.

Fetches wait meanwhile. While the coordinator of the state cannot be reached, the load is tried again. A large
state takes many turns of the event loop, in which this broker may lose the partition, and its log may grow.
"""

import asyncio
import logging

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.base.invariant import InvariantError
from tidelog.broker.shares.large_states import StateReader
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.ports import StateStore
from tidelog.broker.shares.start_offset import first_offset
from tidelog.broker.shares.state_messages import error_in, start_request, state_in, truncate_request
from tidelog.broker.shares.state_saver import BACKOFF_SECONDS, BACKOFF_SECONDS_MAX, FENCED
from tidelog.shares.partition.load import StateLoad
from tidelog.shares.states import NO_START_OFFSET
from tidelog.wire.messages.write_share_group_state import WriteShareGroupStateResponse

log = logging.getLogger("tidelog.broker.shares")


async def load_state(
    led: LedShare, reader: StateReader, store: StateStore, reset: str, now_ms: TimestampMs
) -> StateLoad:
    """KafkaError where the group has no state, or this broker does not lead the partition any more."""
    backoff = BACKOFF_SECONDS
    while True:
        _check(led)
        try:
            return await _load(led, reader, store, reset, now_ms)
        except KafkaError as error:
            if error.code in FENCED:
                raise
            _check(led)
            log.warning(
                "the state of share group %s at %s-%d is not loaded, next try in %g s: %s",
                *(led.place.group_id, led.partition.topic, led.partition.index, backoff, error),
            )
        await asyncio.sleep(backoff)
        backoff = min(backoff * 2, BACKOFF_SECONDS_MAX)


def _check(led: LedShare) -> None:
    if not led.is_current:
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the partition has another leader")


async def _load(
    led: LedShare, reader: StateReader, store: StateStore, reset: str, now_ms: TimestampMs
) -> StateLoad:
    parts = reader.read(led.place, led.leader_epoch)
    load: StateLoad | None = None
    log_end = led.partition.log.end
    while (part := await parts.next()) is not None:
        _check(led)
        if load is None or parts.is_first:
            state = state_in(part)
            if state.start_offset == NO_START_OFFSET:
                start = first_offset(led.partition, reset, now_ms)
                # Stored before the first record is delivered: after a crash `latest` would be a later offset.
                request = start_request(led.place, state.state_epoch, led.leader_epoch, start)
                _check_written(await store.write(request))
                state = state._replace(start_offset=start)
            log_end = led.partition.log.end
            load = StateLoad(state, log_end)
        await reader.load(load, part)
    if load is None:
        raise InvariantError("a state has at least one part")
    if load.is_beyond_log:
        # Stored before others get the lost offsets: the next load must not take them for finished.
        _check(led)
        _check_written(await store.write(truncate_request(led.place, load, led.leader_epoch, log_end)))
        log.warning(
            "share group %s was beyond the end of %s-%d, which is %d: it goes on there",
            *(led.place.group_id, led.partition.topic, led.partition.index, log_end),
        )
    return load


def _check_written(response: WriteShareGroupStateResponse) -> None:
    error = error_in(response)
    if error is not None:
        raise error
