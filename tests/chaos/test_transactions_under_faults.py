"""Processes that copy a topic exactly once, while brokers, coordinators and they themselves are killed.

Nothing that was aborted is read, no transaction is torn, nothing is lost or there twice, and the offsets of
the group agree with the output. `make chaos` is the long run of the same.
"""

import json
from pathlib import Path

import pytest

from tests.chaos.campaign import run_faults
from tests.chaos.copiers import Told
from tests.chaos.transactional_crowd import SETTINGS, wrong_order
from tidelog.testing.history import Completion

FAULTS = [
    "crash_client",
    "kill_coordinator",
    "crash_client+kill_leader",
    "pause_leader",
    "kill_all",
    "crash_client",
]


@pytest.mark.timeout(300)
def test_copies_are_exact(make_cluster, tmp_path: Path) -> None:
    cluster = make_cluster(**SETTINGS)
    cluster.start()
    run_faults(cluster, FAULTS, "copies", longest_s=2.5, copies_in=tmp_path / "copiers")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([0, 1, 2], []),
        ([0, 2], ["x: 1 of 3 are missing, [1]"]),
        ([0, 1, 1, 2], ["x: 1 is there twice"]),
        ([1, 0, 2], ["x: 0 comes after 1"]),
    ],
)
def test_what_is_wrong_with_copies(found: list[int], told: list[str]) -> None:
    assert list(wrong_order(found, 3, "x")) == told


def test_what_a_killed_process_leaves_behind(tmp_path: Path) -> None:
    """A transaction without an end may have happened; a line that was cut says nothing."""
    lines = [
        {"subscribe": 1.0},
        {"begin": 1, "at": 2.0, "read": [["t", 0, 7, "v"]], "sent": [["copy", 0, "a"]]},
        {"end": 1, "at": 3.0, "outcome": "ok", "error": "", "offsets": {"a": 5}},
        {"begin": 2, "at": 4.0, "read": [], "sent": [["copy", 0, "b"]]},
        {"fatal": "fenced"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "x.jsonl").write_text(text + '{"end": 2, "at": 5.0, "outc')
    (tmp_path / "x.err").write_text("")
    told = Told(tmp_path / "x.jsonl")
    _, first, second = told.operations
    assert (first.outcome, first.sent[0].offset, first.read[0].offset) == (Completion.OK, 5, 7)
    assert (second.outcome, second.sent[0].offset) == (Completion.INFO, None)
    assert told.fatal == ["x: fenced"]
