"""The headers of a job that is to be taken later: brokers hold it back from queues until its time.

Brokers take a time more than a year ahead for a mistake and deliver the job at once, so it is refused here.
"""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta

from tidelog.clients.errors import UsageError
from tidelog.clients.queue.job import milliseconds_of
from tidelog.clients.records import Headers
from tidelog.shares.schedule.due_times import DELAY_MS_MAX
from tidelog.shares.schedule.headers import DELAY, DELIVER_AT


def with_schedule(
    headers: Headers | None, delay: float | timedelta | None, at: int | datetime | None
) -> Headers | None:
    if delay is None and at is None:
        return headers
    if delay is not None and at is not None:
        raise UsageError(
            "A job has either a delay or a time, not both.",
            cause="delay and at were passed.",
            attempt="leave one of them out.",
        )
    given = list(headers.items() if isinstance(headers, Mapping) else headers or ())
    if delay is not None:
        return [*given, (DELAY.decode(), str(milliseconds_of(delay, "delay", DELAY_MS_MAX)))]
    assert at is not None
    due_ms = int(at.timestamp() * 1000) if isinstance(at, datetime) else at
    latest_ms = int(time.time() * 1000) + DELAY_MS_MAX
    if not isinstance(due_ms, int) or not 0 <= due_ms <= latest_ms:
        raise UsageError(
            f"at={at!r} is no time from 1970 to {DELAY_MS_MAX // 86_400_000} days from now.",
            cause="it is too far for brokers, or not in milliseconds.",
            attempt="pass a datetime, or milliseconds since 1970.",
        )
    return [*given, (DELIVER_AT.decode(), str(due_ms))]
