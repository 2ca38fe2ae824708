"""Where a source begins, as options of the source."""

import pytest

from tidelog.spark.pipeline.moments import start_options


def test_words_and_times() -> None:
    assert start_options("latest") == {"startingOffsets": "latest"}
    assert start_options("2026-01-01T00:00:00.250Z")["startingTimestamp"] == "1767225600250"
    assert start_options("2026-01-01T01:00:00+01:00")["startingTimestamp"] == "1767225600000"
    assert start_options("2026-01-01")["startingTimestamp"] == "1767225600000"


def test_anything_else_is_refused() -> None:
    with pytest.raises(ValueError, match="'soon' is not"):
        start_options("soon")
