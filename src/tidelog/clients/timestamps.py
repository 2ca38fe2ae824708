"""Times of records, as librdkafka takes them."""

from datetime import datetime

from tidelog.clients.errors import UsageError


def milliseconds(timestamp: int | datetime) -> int:
    number = int(timestamp.timestamp() * 1000) if isinstance(timestamp, datetime) else timestamp
    if number <= 0:
        raise UsageError(
            f"timestamp={timestamp!r} is not after 1970.",
            cause="librdkafka reads 0 as the present time, and has no negative times.",
        )
    return number
