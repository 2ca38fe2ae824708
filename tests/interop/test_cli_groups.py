"""`tidelog group` against a running broker, with real consumers in the groups."""

import json
import os
import pty
import select
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from confluent_kafka import Consumer

from tests.interop.broker_process import console_script
from tests.interop.command_line import Tidelog
from tests.interop.waiting import eventually
from tidelog.cli.exits import Exit
from tidelog.cli.group.states import exact_states
from tidelog.cli.main import cli
from tidelog.cli.session import Session

MINUTE_0 = 1_700_000_000_000  # 2023-11-14T22:13:20Z


@pytest.fixture
def topic(make_topic: Callable[..., str], tidelog: Tidelog) -> str:
    """Two partitions; ten records a minute apart in the first, four in the second."""
    name = make_topic(2)
    for partition, count in ((0, 10), (1, 4)):
        lines = [
            json.dumps({"value": str(number), "timestamp": MINUTE_0 + 60_000 * number})
            for number in range(count)
        ]
        sent = tidelog("produce", name, "-p", str(partition), "-F", "json", stdin="\n".join(lines).encode())
        assert sent.code == Exit.OK
    return name


@pytest.fixture
def group(tidelog: Tidelog) -> Iterator[str]:
    name = f"cli-group-{uuid.uuid4().hex[:10]}"
    yield name
    tidelog("group", "delete", name, "--yes", "--if-exists")


@pytest.fixture
def join(broker_address: str, group: str) -> Iterator[Callable[..., list[Consumer]]]:
    """Consumers of the group that have got their partitions."""
    opened: list[Consumer] = []

    def join_all(topic: str, *client_ids: str) -> list[Consumer]:
        for client_id in client_ids:
            consumer = Consumer(
                {
                    "bootstrap.servers": broker_address,
                    "group.id": group,
                    "client.id": client_id,
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 100,
                }
            )
            consumer.subscribe([topic])
            opened.append(consumer)
        deadline = time.monotonic() + 30
        while not all(consumer.assignment() for consumer in opened):
            assert time.monotonic() < deadline, "the group never settled"
            for consumer in opened:
                if message := consumer.poll(0.1):
                    consumer.seek(_place(message))  # not to be missed by who reads it later
        return opened

    yield join_all
    for consumer in opened:
        consumer.close()


def _place(message: Any) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(message.topic(), message.partition(), message.offset())


def committed(tidelog: Tidelog, group: str) -> dict[int, int]:
    rows = tidelog("group", "lag", group, "--json").json
    return {row["partition"]: row["committed_offset"] for row in rows if row["committed_offset"] is not None}


def reset(tidelog: Tidelog, group: str, *options: str) -> dict[int, int]:
    done = tidelog("group", "reset-offsets", group, *options, "--execute")
    assert done.code == Exit.OK, done.err
    return committed(tidelog, group)


def test_a_group_at_work(
    tidelog: Tidelog, topic: str, group: str, join: Callable[..., list[Consumer]]
) -> None:
    reset(tidelog, group, "--topic", f"{topic}:0", "--to-offset", "3")
    join(topic, "left", "right")

    listed = tidelog("group", "list", "--state", "stable", "--type", "classic", "--json").json
    assert {"group": group, "state": "Stable", "type": "Classic", "simple": False} in listed
    assert [group, "Stable", "Classic"] in [
        line.split() for line in tidelog("group", "list").out.splitlines()
    ]
    assert group not in tidelog("group", "list", "--state", "Empty").out
    assert group not in tidelog("group", "list", "--type", "consumer").out

    [described] = tidelog("group", "describe", group, "--json").json
    assert (described["state"], described["type"], described["assignor"]) == ("Stable", "Classic", "range")
    assert described["lag"] == 7
    assert {member["client_id"] for member in described["members"]} == {"left", "right"}
    assert {part["partition"] for part in described["partitions"] if part["member_id"]} == {0, 1}
    assert tidelog("group", "describe", group).out.startswith(f"{group}  Stable, classic, assignor range, ")

    members = tidelog("group", "members", group, "--json").json
    assert sorted(member["assignment"][0]["partition"] for member in members) == [0, 1]
    assert all(member["host"] in ("127.0.0.1", "localhost") for member in members)
    assert f"{topic}[0]" in tidelog("group", "members", group).out

    by_partition = tidelog("group", "lag", group, "--json").json
    assert [(row["partition"], row["end_offset"], row["lag"]) for row in by_partition] == [
        (0, 10, 7),
        (1, 4, None),
    ]
    by_member = tidelog("group", "lag", group, "--by", "member", "--json").json
    assert sorted((row["partitions"], row["unknown"], row["lag"]) for row in by_member if row["lag"]) == [
        (1, 0, 7)
    ]
    [by_host] = tidelog("group", "lag", group, "--by", "host", "--json").json
    assert (by_host["members"], by_host["partitions"], by_host["lag"]) == (2, 2, 7)
    everyone = {row["group"]: row for row in tidelog("group", "lag", "--json").json}
    assert (everyone[group]["members"], everyone[group]["unknown"]) == (2, 1)


def test_a_group_at_work_cannot_be_moved_or_deleted(
    tidelog: Tidelog, topic: str, group: str, join: Callable[..., list[Consumer]]
) -> None:
    [consumer] = join(topic, "busy")
    consumer.commit(offsets=[_at(topic, 0, 2)], asynchronous=False)

    plan = tidelog("group", "reset-offsets", group, "--topic", topic, "--to-latest", "--json")
    assert (plan.code, plan.json["executed"], plan.json["active_members"]) == (Exit.OK, False, 1)
    refused = tidelog("group", "reset-offsets", group, "--topic", topic, "--to-latest", "--execute")
    assert refused.code == Exit.REFUSED
    assert f"Group '{group}' has 1 active member." in refused.err
    assert tidelog("group", "delete", group, "--yes").code == Exit.REFUSED
    refused = tidelog("group", "delete-offsets", group, "--topic", topic)
    assert refused.code == Exit.REFUSED
    assert f"is subscribed to {topic}[0]" in refused.err
    assert committed(tidelog, group) == {0: 2}

    consumer.unsubscribe()
    eventually(lambda: consumer.poll(0) is None and not tidelog("group", "members", group, "--json").json)
    assert tidelog("group", "members", group).out == "No active members.\n"
    assert reset(tidelog, group, "--topic", topic, "--to-latest") == {0: 10, 1: 4}


def _at(topic: str, partition: int, offset: int) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(topic, partition, offset)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--to-earliest"], {0: 0, 1: 0}),
        (["--to-latest"], {0: 10, 1: 4}),
        (["--to-current"], {0: 5, 1: 2}),
        (["--to-offset", "7"], {0: 7, 1: 4}),
        (["--shift-by", "+2"], {0: 7, 1: 4}),
        (["--shift-by", "-3"], {0: 2, 1: 0}),
        (["--to-datetime", "2023-11-14T22:16:20Z"], {0: 3, 1: 3}),
        (["--to-datetime", f"@{MINUTE_0 + 420_000}"], {0: 7, 1: 4}),
        (["--to-time", "1d"], {0: 10, 1: 4}),
        (["--by-duration", "1h"], {0: 10, 1: 4}),
        (["--by-duration", "5000w"], {0: 0, 1: 0}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_where_a_reset_goes(
    tidelog: Tidelog, topic: str, group: str, options: list[str], expected: dict[int, int]
) -> None:
    assert reset(tidelog, group, "--topic", f"{topic}:0", "--to-offset", "5") == {0: 5}
    assert reset(tidelog, group, "--topic", f"{topic}:1", "--to-offset", "2") == {0: 5, 1: 2}

    plan = tidelog("group", "reset-offsets", group, "--all-topics", *options, "--json").json
    assert {part["partition"]: part["new_offset"] for part in plan["partitions"]} == expected
    assert committed(tidelog, group) == {0: 5, 1: 2}, "a plan changes nothing"
    assert reset(tidelog, group, "--all-topics", *options) == expected


def test_consumers_read_on_where_the_group_was_moved(
    tidelog: Tidelog, topic: str, group: str, join: Callable[..., list[Consumer]]
) -> None:
    reset(tidelog, group, "--topic", topic, "--to-latest")
    reset(tidelog, group, "--topic", f"{topic}:0", "--shift-by", "-2")
    [consumer] = join(topic, "reader")
    messages = []
    while len(messages) < 2:
        messages += consumer.consume(10, 0.5)
    assert [(message.partition(), message.value()) for message in messages] == [(0, b"8"), (0, b"9")]


@pytest.mark.parametrize("name", ["before.csv", "before.json"])
def test_a_backup_is_restored(tidelog: Tidelog, topic: str, group: str, tmp_path: Path, name: str) -> None:
    file = str(tmp_path / name)
    reset(tidelog, group, "--topic", f"{topic}:0", "--to-offset", "6")
    done = tidelog("group", "reset-offsets", group, "--all-topics", "--to-current", "--export", file)
    assert done.code == Exit.OK
    assert "Nothing is changed yet; add --execute to do it." in done.err
    shown = tidelog("group", "reset-offsets", group, "--all-topics", "--to-current", "--export", "-")
    assert shown.out == f"{topic},0,6\n"

    assert reset(tidelog, group, "--topic", topic, "--to-earliest") == {0: 0, 1: 0}
    assert reset(tidelog, group, "--from-file", file) == {0: 6, 1: 0}
    again = tidelog(
        "group", "reset-offsets", group, "--from-file", "-", "--execute", stdin=f"{topic},1,3\n".encode()
    )
    assert again.code == Exit.OK
    assert committed(tidelog, group) == {0: 6, 1: 3}


def test_the_plan_as_a_table(tidelog: Tidelog, topic: str, group: str) -> None:
    done = tidelog("group", "reset-offsets", group, "--topic", topic, "--to-offset", "7")
    assert [line.split() for line in done.out.splitlines()] == [
        ["Topic", "Partition", "Start", "End", "Current", "New", "New", "lag", "Note"],
        [topic, "0", "0", "10", "-", "7", "3"],
        [topic, "1", "0", "4", "-", "4", "0", "7", "is", "after", "the", "end"],
    ]
    assert "does not exist yet; --execute creates it" in done.err


def test_what_is_not_there(tidelog: Tidelog, topic: str, group: str, tmp_path: Path) -> None:
    missing = tidelog("group", "describe", group)
    assert missing.code == Exit.NOT_FOUND
    assert f"There is no group '{group}'" in missing.err
    for arguments in (
        ["members", group],
        ["lag", group],
        ["delete", group, "--yes"],
        ["delete-offsets", group, "--topic", topic],
        ["reset-offsets", group, "--all-topics", "--to-earliest"],
        ["reset-offsets", group, "--topic", f"{topic}:2", "--to-earliest"],
        ["reset-offsets", group, "--topic", "no-such-topic", "--to-earliest"],
        ["reset-offsets", group, "--topic", topic, "--shift-by", "1"],
        ["reset-offsets", group, "--from-file", str(tmp_path / "no-such-file")],
    ):
        assert tidelog("group", *arguments).code == Exit.NOT_FOUND, arguments
    assert tidelog("group", "delete", group, "--yes", "--if-exists").out == f"Group '{group}' absent.\n"
    gone = tidelog("group", "reset-offsets", group, "--from-file", "-", stdin=b"no-such-topic,0,1\n")
    assert gone.code == Exit.NOT_FOUND
    assert "does not exist or has no leader" in gone.out


def test_offsets_and_groups_are_deleted(tidelog: Tidelog, topic: str, group: str) -> None:
    assert reset(tidelog, group, "--topic", topic, "--to-latest") == {0: 10, 1: 4}
    done = tidelog("group", "delete-offsets", group, "--topic", f"{topic}:1", "--json")
    assert done.json == {"group": group, "deleted": [{"topic": topic, "partition": 1}]}
    assert committed(tidelog, group) == {0: 10}
    again = tidelog("group", "delete-offsets", group, "--topic", f"{topic}:1")
    assert again.code == Exit.NOT_FOUND
    assert f"{topic}[1] holds no offset of group '{group}'" in again.err

    assert tidelog("group", "delete", group, typed=b"n\n").err.endswith("Nothing was deleted.\n")
    assert tidelog("group", "delete-offsets", group, "--topic", topic, typed=b"n\n").code == Exit.FAILED
    assert committed(tidelog, group) == {0: 10}
    done = tidelog("group", "delete", group, "no-such-group", typed=b"y\n")
    assert (done.code, done.out) == (Exit.NOT_FOUND, f"Group '{group}' deleted.\n")
    assert tidelog("group", "describe", group).code == Exit.NOT_FOUND


def test_names_and_states(tidelog: Tidelog, topic: str, group: str, broker_address: str) -> None:
    reset(tidelog, group, "--topic", topic, "--to-latest")
    complete = ShellComplete(cli, {"obj": Session()}, "tidelog", "_TIDELOG_COMPLETE")
    typed = ["-b", broker_address, "group", "describe"]
    assert [item.value for item in complete.get_completions(typed, group[:-2])] == [group]
    host, _, port = broker_address.rpartition(":")
    assert exact_states(Session(), [(host, int(port))])[group] == "Empty"
    assert exact_states(Session(properties={"security.protocol": "ssl"}), [(host, int(port))]) == {}


def test_watching_through_a_pipe(tidelog: Tidelog, topic: str, group: str, broker_address: str) -> None:
    reset(tidelog, group, "--topic", f"{topic}:0", "--to-latest")
    command = [console_script(), "-b", broker_address, "group", "lag", group, "--json", "--watch"]
    with subprocess.Popen(
        [*command, "--interval", "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watcher:
        try:
            assert watcher.stdout is not None
            assert watcher.stderr is not None
            assert json.loads(watcher.stdout.readline())[0]["lag"] == 0
            assert tidelog("produce", topic, "new", "-p", "0").code == Exit.OK
            while json.loads(watcher.stdout.readline())[0]["lag"] != 1:
                pass
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(20) == Exit.INTERRUPTED
            assert watcher.stderr.read().strip() == ""
        finally:
            watcher.kill()  # a failed check must not wait for it


def test_watching_on_a_terminal(tidelog: Tidelog, topic: str, group: str, broker_address: str) -> None:
    reset(tidelog, group, "--topic", topic, "--to-latest")
    keyboard, screen = pty.openpty()
    command = [console_script(), "-b", broker_address, "group", "describe", group, "-w", "--interval", "0.2"]
    wide = os.environ | {"COLUMNS": "250", "LINES": "40"}
    with subprocess.Popen(command, stdin=screen, stdout=screen, stderr=screen, env=wide) as watcher:
        try:
            os.close(screen)
            _read_until(keyboard, b"\x1b[5F")  # the head, the group, the titles and two partitions
            watcher.send_signal(signal.SIGINT)
            seen = _read_until(keyboard, b"\x1b[?25h")
            assert watcher.wait(20) == Exit.INTERRUPTED
            assert b"Traceback" not in seen
        finally:
            watcher.kill()
            os.close(keyboard)


def _read_until(source: int, mark: bytes) -> bytes:
    seen = b""
    deadline = time.monotonic() + 20
    while mark not in seen:
        ready, _, _ = select.select([source], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"never saw {mark!r} in {seen[:2000]!r}"
        seen += os.read(source, 65536)
    return seen
