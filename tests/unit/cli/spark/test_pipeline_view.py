"""What a running pipeline shows of its queries and its rows."""

import json
from datetime import datetime
from typing import Any

import pytest

from tidelog.cli.spark.pipeline_view import PipelineView, cell_text, progress_line, progress_rows, state_text
from tidelog.spark.pipeline.progress import QueryProgress

BUSY = QueryProgress(
    "revenue", batch=12, rows=4500, rows_per_s=1234.5, lag=17, batch_ms=420, state_rows=90, state_bytes=2048
)


def test_a_query_on_one_line() -> None:
    assert progress_line(BUSY.as_json()) == (
        "revenue: batch 12, 4,500 rows, 1,234 rows/s, lag 17, batch time 0.42 s, state 90 rows, 2 KiB"
    )


def test_a_query_that_has_not_begun() -> None:
    idle = QueryProgress("revenue").as_json()
    assert state_text(idle) == "none"
    assert progress_rows([idle])[1] == [("revenue", None, "0", "0", None, "0.00 s", "none", "0")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (True, "True"),
        (12345, "12,345"),
        (0.5, "0.50"),
        (b"caf\xc3\xa9", "café"),
        (datetime(2026, 1, 2, 3, 4), "2026-01-02 03:04:00"),
        (("a", 1), "a, 1"),
    ],
)
def test_cells(value: Any, shown: str) -> None:
    assert cell_text(value) == shown


def test_events_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    view = PipelineView(as_json=True)
    view.say("for people only")
    view.say("Running", event="running", pipeline="p")
    view.rows("q", 3, ["n", "at"], [(1, datetime(2026, 1, 2))], 1)
    view.progress([BUSY])
    view.progress([BUSY])  # nothing new
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["running", "row", "progress"]
    assert events[1]["row"] == {"n": 1, "at": "2026-01-02 00:00:00"}


def test_results_on_stdout_and_remarks_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    view = PipelineView(as_json=False)
    view.say("Running", event="running")
    view.rows("q", 3, ["country", "revenue"], [("DE", 1.5)], 4)
    view.progress([BUSY])
    out, remarks = capsys.readouterr()
    assert [line.split() for line in out.splitlines()] == [
        ["country", "revenue"],
        ["DE", "1.50"],
        ["…", "and", "3", "more", "rows"],
    ]
    assert remarks.startswith("Running\nrevenue: batch 12")
