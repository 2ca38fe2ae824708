"""The tidelog command against a running broker: what it does, what it prints, how it exits."""

import json
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from tests.interop.broker_process import console_script, free_port
from tests.interop.command_line import Tidelog
from tests.interop.waiting import eventually
from tidelog.cli.exits import Exit
from tidelog.cli.main import cli, run
from tidelog.cli.session import Session


@pytest.fixture
def topic(tidelog: Tidelog) -> Iterator[str]:
    name = f"cli-{uuid.uuid4().hex[:10]}"
    assert tidelog("topic", "create", name, "-p", "2").code == Exit.OK
    eventually(lambda: tidelog("topic", "describe", name).code == Exit.OK)
    yield name
    tidelog("topic", "delete", name, "--yes", "--if-exists")


def test_a_topic_from_birth_to_death(tidelog: Tidelog) -> None:
    name = f"cli-{uuid.uuid4().hex[:10]}"
    created = tidelog("topic", "create", name, "-p", "3", "-r", "1", "-c", "retention.ms=7d")
    assert (created.code, created.out) == (Exit.OK, f"Topic '{name}' created.\n")
    assert any(line.split() == [name, "3", "1"] for line in tidelog("topic", "list").out.splitlines())

    [described] = tidelog("topic", "describe", name, "--json").json
    assert described["config"]["retention.ms"] == "604800000"
    assert [part["partition"] for part in described["partitions"]] == [0, 1, 2]
    assert {(part["start_offset"], part["end_offset"]) for part in described["partitions"]} == {(0, 0)}
    assert {part["size_bytes"] for part in described["partitions"]} == {0}
    assert len(described["id"]) == 22

    assert tidelog("topic", "alter", name, "-c", "segment.bytes=1 MiB", "-u", "retention.ms").code == Exit.OK
    [described] = tidelog("topic", "describe", name, "--json").json
    assert described["config"] == {"segment.bytes": "1048576"}

    assert tidelog("topic", "add-partitions", name, "5").code == Exit.OK
    [described] = tidelog("topic", "describe", name, "--json").json
    assert len(described["partitions"]) == 5

    assert tidelog("topic", "delete", name, "--yes").code == Exit.OK
    assert tidelog("topic", "describe", name).code == Exit.NOT_FOUND


def test_the_describe_table(tidelog: Tidelog, topic: str) -> None:
    tidelog("produce", topic, "x", "-p", "1")
    lines = tidelog("topic", "describe", topic).out.splitlines()
    assert lines[0].startswith(f"{topic}  2 partitions, id ")
    assert lines[1].split() == [
        "Partition",
        "Leader",
        "Replicas",
        "In",
        "sync",
        "Start",
        "End",
        "Records",
        "Size",
    ]
    assert lines[3].split()[0] == "1"
    assert lines[3].split()[4:7] == ["0", "1", "1"]


def test_exit_codes_of_topic_commands(tidelog: Tidelog, topic: str) -> None:
    assert tidelog("topic", "create", topic).code == Exit.EXISTS
    assert tidelog("topic", "create", topic, "--if-not-exists").out == f"Topic '{topic}' exists.\n"
    assert tidelog("topic", "create", "not a name").code == Exit.REFUSED
    assert tidelog("topic", "create", "a-new-one", "-c", "no.such.setting=1").code == Exit.REFUSED
    assert tidelog("topic", "create", "a-new-one", "-r", "99").code == Exit.REFUSED
    assert tidelog("topic", "describe", "no-such-topic").code == Exit.NOT_FOUND
    missing = tidelog("topic", "delete", "no-such-topic", "--yes")
    assert missing.code == Exit.NOT_FOUND
    assert "topic create" not in missing.err
    assert tidelog("topic", "delete", "no-such-topic", "--yes", "--if-exists").code == Exit.OK
    assert tidelog("topic", "add-partitions", topic, "1").code == Exit.REFUSED
    assert tidelog("topic", "alter", topic, "-c", "retention.ms=soon").code == Exit.REFUSED


def test_one_bad_name_does_not_stop_the_others(tidelog: Tidelog) -> None:
    good = f"cli-{uuid.uuid4().hex[:10]}"
    done = tidelog("topic", "create", "not a name", good, "--json")
    assert done.code == Exit.REFUSED
    results = {line["name"]: line["result"] for line in done.json}
    assert results == {"not a name": "failed", good: "created"}
    assert tidelog("topic", "delete", good, "--yes").code == Exit.OK


def test_validate_only_creates_nothing(tidelog: Tidelog) -> None:
    name = f"cli-{uuid.uuid4().hex[:10]}"
    assert tidelog("topic", "create", name, "--validate-only").out == f"Topic '{name}' would be created.\n"
    assert tidelog("topic", "describe", name).code == Exit.NOT_FOUND


def test_arguments_become_records_with_receipts(tidelog: Tidelog, topic: str) -> None:
    done = tidelog("produce", topic, "first", "second", "--key", "k", "-p", "1", "-H", "a=1", "-H", "b=2")
    assert done.out == f"{topic}[1] offset 0\n{topic}[1] offset 1\n"
    records = tidelog("consume", topic, "--json").json_lines
    assert [record["value"] for record in records] == ["first", "second"]
    assert records[0]["key"] == "k"
    assert records[0]["headers"] == [["a", "1"], ["b", "2"]]
    assert records[0]["timestamp_type"] == "create"


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_of_stdin_become_records(tidelog: Tidelog, topic: str, compression: str) -> None:
    lines = [f"line {number}" for number in range(500)]
    done = tidelog(
        "produce", topic, "-p", "0", "-z", compression, "--json", stdin="\n".join(lines).encode() + b"\n"
    )
    assert done.json["records"] == 500
    assert done.json["partitions"] == [
        {"partition": 0, "records": 500, "first_offset": 0, "last_offset": 499}
    ]
    assert tidelog("consume", topic).out.splitlines() == lines


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_acks(tidelog: Tidelog, topic: str, acks: str) -> None:
    assert tidelog("produce", topic, "x", "--acks", acks, "-p", "0").code == Exit.OK
    assert tidelog("consume", topic, "-f", "--from", "beginning", "-n", "1").out == "x\n"


def test_keys_tombstones_binary_and_whole_files(tidelog: Tidelog, topic: str, tmp_path: Any) -> None:
    blob = bytes(range(256)) * 4
    (tmp_path / "blob").write_bytes(blob)
    assert tidelog("produce", topic, "-p", "0", "-K", ":", "--null-value", stdin=b"a:1\nb:\n").code == Exit.OK
    assert tidelog("produce", topic, "-p", "0", "--key", "c", "--null-value").code == Exit.OK
    assert tidelog("produce", topic, "-p", "0", "--whole", "-f", str(tmp_path / "blob")).code == Exit.OK
    assert tidelog("produce", topic, "-p", "0", "-F", "hex", "ff00", "--idempotent").code == Exit.OK
    shown = tidelog("consume", topic, "-F", "hex").out.splitlines()
    assert [line.split("\t")[2:] for line in shown] == [
        ["61", "31"],
        ["62", "null"],
        ["63", "null"],
        ["null", blob.hex()],
        ["null", "ff00"],
    ]


def test_a_topic_copies_through_json(tidelog: Tidelog, topic: str) -> None:
    tidelog("produce", topic, "-K", "=", "-H", "h=x", stdin=b"a=1\nb=2\nc=3\n")
    original = tidelog("consume", topic, "--json")
    copy = f"{topic}-copy"
    assert tidelog("topic", "create", copy, "-p", "2").code == Exit.OK
    assert tidelog("produce", copy, "-F", "json", stdin=original.out.encode()).code == Exit.OK
    key = lambda record: (record["partition"], record["offset"])  # noqa: E731
    copied = sorted(tidelog("consume", copy, "--json").json_lines, key=key)
    assert [record | {"topic": topic} for record in copied] == sorted(original.json_lines, key=key)
    tidelog("topic", "delete", copy, "--yes")


@pytest.fixture
def numbered(tidelog: Tidelog, topic: str) -> str:
    """Ten records in partition 0, a minute apart, the last one at 10:00."""
    lines = [
        json.dumps({"value": str(number), "timestamp": 1_700_000_000_000 + 60_000 * number})
        for number in range(10)
    ]
    assert tidelog("produce", topic, "-p", "0", "-F", "json", stdin="\n".join(lines).encode()).code == Exit.OK
    return topic


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "0123456789"),
        (["--from", "beginning", "-n", "3"], "012"),
        (["--from", "7"], "789"),
        (["--from", "-2"], "89"),
        (["--from", "end"], ""),
        (["--from", "@1700000120000"], "23456789"),
        (["--from", "2023-11-14T22:16:20Z"], "3456789"),
        (["--from", "1m"], ""),
        (["--until", "4"], "0123"),
        (["--from", "2", "--until", "@1700000300000"], "234"),
        (["-f", "--from", "8", "-n", "2"], "89"),
        (["-p", "1"], ""),
    ],
)
def test_positions(tidelog: Tidelog, numbered: str, options: list[str], expected: str) -> None:
    partition = [] if "-p" in options else ["-p", "0"]
    done = tidelog("consume", numbered, *partition, *options)
    assert (done.code, done.out.split()) == (Exit.OK, list(expected))


def test_positions_that_are_not_there(tidelog: Tidelog, numbered: str) -> None:
    done = tidelog("consume", numbered, "-p", "0", "--from", "11")
    assert done.code == Exit.REFUSED
    assert "holds 0 up to, not including, 10" in done.err
    assert tidelog("consume", numbered, "-p", "9").code == Exit.NOT_FOUND
    assert tidelog("consume", "no-such-topic").code == Exit.NOT_FOUND
    assert tidelog("produce", "no-such-topic", "x").code == Exit.NOT_FOUND
    assert tidelog("produce", numbered, "x", "-p", "9").code == Exit.NOT_FOUND
    assert "no-such-topic" not in tidelog("topic", "list").out


def test_produce_creates_a_topic_only_when_told(tidelog: Tidelog) -> None:
    name = f"cli-{uuid.uuid4().hex[:10]}"
    assert tidelog("produce", name, "x", "--create-topic").code == Exit.OK
    assert tidelog("consume", name).out == "x\n"
    assert tidelog("topic", "delete", name, "--yes").code == Exit.OK


def test_a_record_that_is_too_large_is_refused(tidelog: Tidelog, topic: str) -> None:
    done = tidelog("produce", topic, "--whole", stdin=bytes(3_000_000))
    assert done.code == Exit.REFUSED
    assert topic in done.err


def test_settings_of_a_topic(tidelog: Tidelog, topic: str) -> None:
    assert "no settings of its own" in tidelog("config", "show", "topic", topic).out
    done = tidelog("config", "set", "topic", topic, "retention.ms=1d", "cleanup.policy=compact")
    assert done.out == f"Topic '{topic}': retention.ms=86400000\nTopic '{topic}': cleanup.policy=compact\n"
    shown = tidelog("config", "show", "topic", topic, "--json").json
    assert {(entry["name"], entry["value"], entry["source"]) for entry in shown} == {
        ("retention.ms", "86400000", "topic"),
        ("cleanup.policy", "compact", "topic"),
    }
    assert len(tidelog("config", "show", "topic", topic, "--all", "--json").json) > 20
    assert tidelog("config", "unset", "topic", topic, "retention.ms", "cleanup.policy").code == Exit.OK
    assert tidelog("config", "show", "topic", topic, "--json").json == []
    assert tidelog("config", "show", "topic", topic, "retention.sm").code == Exit.NOT_FOUND
    assert tidelog("config", "show", "topic", "no-such-topic").code == Exit.NOT_FOUND
    assert tidelog("config", "set", "topic", "no-such-topic", "retention.ms=1").code == Exit.NOT_FOUND
    assert tidelog("config", "set", "topic", topic, "no.such.setting=1").code == Exit.REFUSED


def test_settings_of_brokers(tidelog: Tidelog) -> None:
    name = "log.cleaner.backoff.ms"
    shown = tidelog("config", "show", "broker", "--json").json
    assert {"node.id", "log.dirs"} <= {entry["name"] for entry in shown} or shown
    assert tidelog("config", "set", "broker", f"{name}=20s").code == Exit.OK
    [entry] = tidelog("config", "show", "broker", name, "--json").json
    assert (entry["value"], entry["source"]) == ("20000", "cluster")
    assert tidelog("config", "set", "broker", "--id", "1", f"{name}=25s").code == Exit.OK
    [entry] = tidelog("config", "show", "broker", name, "--json").json
    assert (entry["value"], entry["source"]) == ("25000", "broker")
    assert tidelog("config", "unset", "broker", "--id", "1", name).code == Exit.OK
    assert tidelog("config", "unset", "broker", name).code == Exit.OK
    [entry] = tidelog("config", "show", "broker", name, "--json").json
    assert entry["source"] == "default"
    assert tidelog("config", "set", "broker", f"{name}=soon").code == Exit.REFUSED
    assert tidelog("config", "show", "broker", "--id", "99").code == Exit.NOT_FOUND


def test_topic_names_complete_from_the_broker(topic: str, broker_address: str) -> None:
    complete = ShellComplete(cli, {"obj": Session()}, "tidelog", "_TIDELOG_COMPLETE")
    typed = ["-b", broker_address, "consume"]
    assert [item.value for item in complete.get_completions(typed, topic[:-2])] == [topic]
    assert complete.get_completions(["-b", f"127.0.0.1:{free_port()}", "consume"], "c") == []


def test_a_broker_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    assert run(["topic", "list", "-b", f"127.0.0.1:{port}"]) == Exit.UNREACHABLE
    assert capsys.readouterr().err.splitlines() == [
        f"Error: No broker answers at 127.0.0.1:{port}.",
        "  Likely cause: nothing listens there; is the broker running, and on this port?",
        f"  Try: tidelog up --port {port}",
    ]
    assert run(["--json", "topic", "list", "-b", f"127.0.0.1:{port}"]) == Exit.UNREACHABLE
    assert json.loads(capsys.readouterr().err)["error"] == "UNREACHABLE"


def test_something_that_is_no_broker(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert run(["topic", "list", "-b", f"127.0.0.1:{port}", "--timeout", "1"]) == Exit.UNREACHABLE
    assert "another program listens there" in capsys.readouterr().err


def test_a_closed_pipe_ends_quietly(tidelog: Tidelog, topic: str, broker_address: str) -> None:
    tidelog("produce", topic, stdin=b"x" * 50 + b"\n" + (b"y" * 50 + b"\n") * 20_000)
    command = f"{console_script()} -b {broker_address} consume {topic} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[1] == "0"
    assert done.stderr == ""


def test_follow_shows_new_records_at_once_and_ctrl_c_ends_it(
    tidelog: Tidelog, topic: str, broker_address: str
) -> None:
    assert tidelog("produce", topic, "old", "-p", "0").code == Exit.OK
    command = [console_script(), "-b", broker_address, "consume", topic, "-f", "--from", "beginning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        try:
            assert follower.stdout is not None
            assert follower.stderr is not None
            assert follower.stdout.readline() == "old\n"
            assert tidelog("produce", topic, "new", "-p", "1").code == Exit.OK
            assert follower.stdout.readline() == "new\n"
            began = time.monotonic()
            follower.send_signal(signal.SIGINT)
            assert follower.wait(20) == Exit.INTERRUPTED
            assert time.monotonic() - began < 10
            assert follower.stderr.read().strip() == ""
        finally:
            follower.kill()  # a failed check must not wait for it
