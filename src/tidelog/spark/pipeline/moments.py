"""Where a source begins that has no checkpoint yet: `earliest`, `latest`, or a moment in time."""

import calendar
from datetime import UTC, datetime


def start_options(start: str) -> dict[str, str]:
    """The options of the source. ValueError says what can be written."""
    if start in ("earliest", "latest"):
        return {"startingOffsets": start}
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:
        raise ValueError(
            f"'{start}' is not 'earliest', 'latest' or a time such as '2026-03-01T08:00:00Z'"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole_s = calendar.timegm(moment.utctimetuple())
    return {
        "startingTimestamp": str(whole_s * 1000 + moment.microsecond // 1000),
        # A partition without later records begins with the next one, where the option's default is to fail.
        "startingOffsetsByTimestampStrategy": "latest",
    }
