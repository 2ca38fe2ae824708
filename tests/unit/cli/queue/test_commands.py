"""Calls that are wrong before any broker is asked, formats of peeked records, and errors about queues."""

import json

import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.lag import GroupInfo
from tidelog.cli.group.share import refuse_share_groups
from tidelog.cli.main import run
from tidelog.cli.queue.calls import in_use, needs_leaders
from tidelog.cli.queue.peek import state_format, state_text
from tidelog.cli.queue.record_states import UNKNOWN, RecordState
from tidelog.cli.records.format import Columns, Consumed

RESET = ["queue", "reset", "g"]
REDRIVE = ["queue", "redrive", "g"]
PURGE = ["queue", "purge", "g"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["queue", "describe"],
        ["queue", "list", "--interval", "0"],
        ["queue", "stats", "--sample", "-1"],
        ["queue", "peek"],
        ["queue", "peek", "g", "--max", "0"],
        ["queue", "peek", "g", "--from", "soon"],
        ["queue", "peek", "g", "--format", "%z"],
        ["queue", "dead-letters", "g", "--max", "0"],
        ["queue", "dead-letters", "g", "--older-than", "soon"],
        ["queue", "dead-letters", "g", "--topic", "t:x"],
        [*REDRIVE, "--dry-run", "--execute"],
        [*REDRIVE, "--max", "0"],
        [*RESET, "--topic", "t"],
        [*RESET, "--to-earliest"],
        [*RESET, "--to-earliest", "--to-latest", "--topic", "t"],
        [*RESET, "--to-earliest", "--topic", "t", "--all-topics"],
        [*RESET, "--to-earliest", "--topic", "t", "--dry-run", "--execute"],
        [*RESET, "--to-datetime", "yesterday", "--topic", "t"],
        [*RESET, "--to-offset", "-1", "--topic", "t"],
        [*PURGE, "--dead-letters", "--topic", "t"],
        [*PURGE, "--of-all-groups"],
        [*PURGE, "--dead-letter-topic", "t"],
    ],
    ids=" ".join,
)
def test_wrong_calls(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == Exit.USAGE
    assert capsys.readouterr().err


def test_no_broker(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["list"], ["describe", "g"], ["dead-letters", "g"], ["redrive", "g", "--execute"]):
        assert run(["-b", "localhost:1", "queue", *arguments]) == Exit.UNREACHABLE
        assert "tidelog up --port 1" in capsys.readouterr().err


RECORD = Consumed("jobs", 0, 7, 5, "create", b"k", b"v", [])


def test_formats_of_peeked_records() -> None:
    delivered = RecordState("available", 2)
    show, end = state_format("plain", Columns())
    assert (show((RECORD, delivered)), end) == ("available (2x)\tv", "\n")
    show, _ = state_format("json", Columns())
    found = json.loads(show((RECORD, delivered)))
    assert (found["value"], found["state"], found["deliveries"], found["due"]) == ("v", "available", 2, None)
    show, end = state_format("%o %v", Columns())
    assert (show((RECORD, UNKNOWN)), end) == ("7 v", "\n")
    assert state_text(RecordState("scheduled", 0, 1)) == "scheduled for 0 ms"


def test_errors_about_queues() -> None:
    assert "has 1 active member." in in_use("g", 1).message
    assert "has 2 active members." in in_use("g", 2).message
    assert needs_leaders("x", "g").code is Exit.REFUSED


def test_share_groups_have_no_committed_offsets() -> None:
    classic, share = (GroupInfo("g", "Empty", type, "", None, ()) for type in ("Classic", "Share"))
    refuse_share_groups([classic], "")
    with pytest.raises(CliError) as raised:
        refuse_share_groups([classic, share], "tidelog queue reset {name}")
    assert (raised.value.code, raised.value.attempt) == (Exit.REFUSED, "tidelog queue reset g")
