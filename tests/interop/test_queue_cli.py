"""`tidelog queue` against a running broker, with workers in the groups, and dead letters."""

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.interop.broker_process import console_script
from tests.interop.command_line import Tidelog
from tests.interop.waiting import eventually
from tidelog import Job, Queue
from tidelog.cli.exits import Exit
from tidelog.shares.dead_letters.letters import Origin, Reason, context_headers


def letter(number: int, topic: str, group: str, reason: Reason = Reason.REJECTED, **changes: Any) -> str:
    """A line for `tidelog produce` that writes what a broker writes for a dead letter."""
    context = context_headers(Origin(topic, number % 2, group), number, 5, reason)
    headers = [["own", "1"], *([name, (value or b"").decode()] for name, value in context)]
    return json.dumps({"key": f"k{number}", "value": f"v{number}", "headers": headers, **changes})


def lines(*listed: str) -> bytes:
    return "\n".join(listed).encode()


@pytest.fixture
def group() -> str:
    return f"workers-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def jobs(make_topic: Callable[..., str]) -> str:
    return make_topic(2)


@pytest.fixture
def dead(tidelog: Tidelog, group: str) -> str:
    """The group's dead-letter topic, empty."""
    name = f"dlq.{group}"
    assert tidelog("topic", "create", name, "--partitions", "2").code == Exit.OK
    done = tidelog("config", "set", "group", group, f"errors.deadletterqueue.topic.name={name}")
    assert done.code == Exit.OK, done.err
    return name


def put(tidelog: Tidelog, topic: str, letters: Iterable[str], partition: int = 0) -> None:
    sent = tidelog("produce", topic, "-F", "json", "-p", str(partition), stdin=lines(*letters))
    assert sent.code == Exit.OK, sent.err


def keys(tidelog: Tidelog, topic: str) -> list[str]:
    return sorted(record["key"] for record in tidelog("consume", topic, "--json").json_lines)


def dead_keys(tidelog: Tidelog, group: str, *options: str) -> list[str]:
    return sorted(found["key"] for found in tidelog("queue", "dead-letters", group, *options, "--json").json)


def test_dead_letters_are_shown_with_their_reasons(
    tidelog: Tidelog, jobs: str, dead: str, group: str
) -> None:
    put(tidelog, dead, [letter(0, jobs, group), letter(1, jobs, group, Reason.TOO_OFTEN)])
    put(tidelog, dead, [letter(2, jobs, "another"), '{"value": "no letter"}'], partition=1)

    [first, second] = tidelog("queue", "dead-letters", group, "--json").json
    assert (first["source_topic"], first["source_partition"], first["source_offset"]) == (jobs, 0, 0)
    assert (first["key"], first["value"], first["headers"]) == ("k0", "v0", [["own", "1"]])
    assert (first["delivery_count"], first["reason"]) == (5, Reason.REJECTED)
    assert (second["source_offset"], second["reason"]) == (1, Reason.TOO_OFTEN)

    shown = tidelog("queue", "dead-letters", group).out
    assert f"{jobs}[0]@0" in shown
    assert Reason.TOO_OFTEN in shown

    assert dead_keys(tidelog, group, "--reason", "too-often") == ["k1"]
    assert dead_keys(tidelog, group, "--topic", f"{jobs}:0") == ["k0"]
    assert dead_keys(tidelog, group, "--key", "k1") == ["k1"]
    assert dead_keys(tidelog, group, "--older-than", "1h") == []
    assert dead_keys(tidelog, group, "--newer-than", "1h", "--max", "1") == ["k0"]
    assert dead_keys(tidelog, "another", "--dead-letter-topic", dead) == ["k2"]


def test_dead_letters_are_put_back_once_and_the_others_stay(
    tidelog: Tidelog, jobs: str, dead: str, group: str
) -> None:
    put(tidelog, dead, [letter(number, jobs, group) for number in range(10)])
    put(tidelog, dead, [letter(10, jobs, group, Reason.TOO_OFTEN), letter(11, jobs, "another")], partition=1)

    plan = tidelog("queue", "redrive", group, "--json").json
    assert (plan["executed"], plan["letters"], plan["put_back"], plan["passed_over"]) == (False, 11, 0, 1)
    assert keys(tidelog, jobs) == []

    done = tidelog("queue", "redrive", group, "--key", "k4", "--execute")
    assert done.code == Exit.OK, done.err
    assert "Put back 1 dead letter." in done.err
    assert "k4" not in dead_keys(tidelog, group)
    assert len(dead_keys(tidelog, group)) == 10

    done = tidelog("queue", "redrive", group, "--reason", "rejected", "--execute", "--json")
    assert done.json["put_back"] == 9
    assert keys(tidelog, jobs) == sorted(f"k{number}" for number in range(10))
    [back] = [each for each in tidelog("consume", jobs, "--json").json_lines if each["key"] == "k7"]
    assert back["partition"] == 1
    assert back["headers"] == [["own", "1"], ["tidelog-redriven", "1"]]
    assert dead_keys(tidelog, group) == ["k10"]
    assert dead_keys(tidelog, "another", "--dead-letter-topic", dead) == ["k11"]

    again = tidelog("queue", "redrive", group, "--execute", "--json").json
    assert again["put_back"] == 1
    assert len(keys(tidelog, jobs)) == 11


def test_to_another_topic(
    tidelog: Tidelog, make_topic: Callable[..., str], jobs: str, dead: str, group: str
) -> None:
    other = make_topic(1)
    put(tidelog, dead, [letter(0, jobs, group), letter(1, "no-such-topic", group)])
    done = tidelog("queue", "redrive", group, "--execute", "--json").json
    assert done["put_back"] == 1
    assert list(done["not_possible"].values()) == [1]
    assert tidelog("queue", "redrive", group, "--to", "no-such-topic").code == Exit.NOT_FOUND
    done = tidelog("queue", "redrive", group, "--to", other, "--execute", "--json").json
    assert done["put_back"] == 1
    assert keys(tidelog, other) == ["k1"]


@pytest.mark.parametrize("run", range(3))
def test_two_redrives_at_once_one_of_them_killed(
    tidelog: Tidelog, jobs: str, dead: str, group: str, *, broker_address: str, run: int
) -> None:
    count = 20_000
    put(tidelog, dead, [letter(number, jobs, group) for number in range(count)])
    command = [console_script(), "-b", broker_address, "queue", "redrive", group, "--execute"]
    redrives = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)
    ]
    deadline = time.monotonic() + 30
    while not keys(tidelog, jobs) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(redrives[0].pid, signal.SIGKILL)
    if run == 2:
        os.kill(redrives[1].pid, signal.SIGINT)
    for redrive in redrives:
        redrive.wait(60)
    assert tidelog("queue", "redrive", group, "--execute").code == Exit.OK
    assert keys(tidelog, jobs) == sorted(f"k{number}" for number in range(count))
    assert dead_keys(tidelog, group) == []


def test_dead_letters_are_deleted(tidelog: Tidelog, jobs: str, dead: str, group: str) -> None:
    put(tidelog, dead, [letter(0, jobs, group), letter(1, jobs, "another")])
    purge = ("queue", "purge", group, "--dead-letters")
    refused = tidelog(*purge)
    assert refused.code == Exit.REFUSED
    assert "1 of another" in refused.err
    assert tidelog(*purge, "--of-all-groups", typed=b"n\n").code == Exit.FAILED
    assert dead_keys(tidelog, group) == ["k0"]
    assert tidelog(*purge, "--of-all-groups", "--json").json["deleted"] == {group: 1, "another": 1}
    assert dead_keys(tidelog, group) == []


def test_other_records_than_dead_letters_are_not_deleted(
    tidelog: Tidelog, make_topic: Callable[..., str], dead: str, group: str
) -> None:
    orders = make_topic(2)
    put(tidelog, orders, [json.dumps({"key": f"k{number}", "value": "v"}) for number in range(3)])
    purge = ("queue", "purge", group, "--dead-letters", "--dead-letter-topic", orders, "--of-all-groups")
    refused = tidelog(*purge, "--begun", "--yes")
    assert refused.code == Exit.REFUSED
    assert "3 records that are no dead letters" in refused.err
    assert keys(tidelog, orders) == ["k0", "k1", "k2"]


def test_settings_of_a_group(tidelog: Tidelog, group: str) -> None:
    assert tidelog("config", "show", "group", group, "--json").json == []
    done = tidelog("config", "set", "group", group, "share.record.lock.duration.ms=45s")
    assert done.out == f"Group '{group}': share.record.lock.duration.ms=45000\n"
    [setting] = tidelog("config", "show", "group", group, "--json").json
    assert (setting["value"], setting["source"]) == ("45000", "group")
    assert tidelog("config", "unset", "group", group, "share.record.lock.duration.ms").code == Exit.OK
    assert tidelog("config", "show", "group", group, "--json").json == []
    assert tidelog("config", "set", "group", group, "share.record.lock.duration.ms=1").code == Exit.REFUSED


def test_a_group_without_dead_letters(tidelog: Tidelog, group: str) -> None:
    missing = tidelog("queue", "dead-letters", group)
    assert missing.code == Exit.NOT_FOUND
    assert "has no dead-letter topic" in missing.err
    assert tidelog("queue", "dead-letters", group, "--dead-letter-topic", "nowhere").code == Exit.NOT_FOUND
    setting = f"errors.deadletterqueue.topic.name=dlq.{group}"
    assert tidelog("config", "set", "group", group, setting).code == Exit.OK
    for command in ("dead-letters", "redrive"):
        assert f"The topic dlq.{group} does not exist yet" in tidelog("queue", command, group).out


Workers = Callable[[str], Queue[bytes, bytes]]


@pytest.fixture
def workers(tidelog: Tidelog, group: str, broker_address: str) -> Iterator[Workers]:
    """Members of the group, which begins with the first record."""
    assert tidelog("config", "set", "group", group, "share.auto.offset.reset=earliest").code == Exit.OK
    with ExitStack() as stack:

        def join(topic: str) -> Queue[bytes, bytes]:
            opened = Queue(topic, broker_address, group_id=group, prefetch=5)
            return stack.enter_context(opened)

        yield join
    tidelog("group", "delete", group, "--yes", "--if-exists")


def take(queue: Queue[bytes, bytes], count: int) -> list[Job[bytes, bytes]]:
    taken = list(queue.take(timeout_ms=20_000, limit=count))
    assert len(taken) == count
    return taken


def of_partition(described: Any, partition: int = 0) -> Any:
    [found] = [part for part in described["partitions"] if part["partition"] == partition]
    return found


def test_a_queue_at_work(
    tidelog: Tidelog,
    jobs: str,
    dead: str,
    group: str,
    workers: Workers,
) -> None:
    tidelog("config", "set", "group", group, "share.retry.backoff.ms=10min")
    tidelog("config", "set", "topic", dead, "errors.deadletterqueue.group.enable=true")
    put(tidelog, jobs, [json.dumps({"key": f"k{number}", "value": "x"}) for number in range(5)])
    put(tidelog, jobs, ['{"value": "later", "headers": [["tidelog-delay", "600000"]]}'])
    queue = workers(jobs)
    taken = take(queue, 5)
    taken[0].done()
    taken[1].retry()
    taken[2].fail()
    queue.flush()

    def is_dead() -> bool:
        return dead_keys(tidelog, group) == ["k2"]

    eventually(is_dead)
    [row] = [row for row in tidelog("queue", "list", "--json").json if row["group"] == group]
    assert (row["state"], row["members"], row["topics"]) == ("Stable", 1, [jobs])
    assert (row["depth"], row["in_flight"], row["delayed"], row["scheduled"]) == (4, 2, 1, 1)
    assert row["oldest_age_ms"] is not None

    [described] = tidelog("queue", "describe", group, "--json").json
    assert described["settings"]["errors.deadletterqueue.topic.name"] == dead
    [member] = described["members"]
    assert {place["partition"] for place in member["assignment"]} == {0, 1}
    part = of_partition(described)
    assert (part["start_offset"], part["end_offset"], part["depth"]) == (1, 6, 4)
    assert part["holders"][0]["records"] == 2
    assert part["delivery_counts"]["1"] == 3
    shown = tidelog("queue", "describe", group).out
    assert shown.startswith(f"{group}  Stable, 1 member, depth 4, in flight 2, ")
    assert "share.retry.backoff.ms" in shown

    [measured] = tidelog("queue", "stats", group, "--sample", "0.1", "--json").json
    assert (measured["depth"], measured["incoming_per_s"], measured["done_per_s"]) == (4, 0.0, 0.0)
    assert group in tidelog("queue", "stats", "--sample", "0").out

    peeked = tidelog("queue", "peek", group, "--json").json_lines
    assert [(record["offset"], record["state"], record["deliveries"]) for record in peeked] == [
        (1, "delayed", 1),
        (3, "in flight", 1),
        (4, "in flight", 1),
        (5, "scheduled", 0),
    ]
    everything = tidelog("queue", "peek", group, "--from", "beginning", "--done", "-n", "3", "-O").out
    assert [line.split()[0] for line in everything.splitlines()] == ["done", "delayed", "done"]

    for command in (("reset", group, "--all-topics", "--to-latest", "--execute"), ("purge", group)):
        refused = tidelog("queue", *command)
        assert refused.code == Exit.REFUSED
        assert "1 active member" in refused.err

    done = tidelog("queue", "redrive", group, "--execute", "--json").json
    assert done["put_back"] == 1
    taken[3].done()
    taken[4].done()
    [back] = take(queue, 1)
    assert (back.key, back.delivery_count) == (b"k2", 1)
    back.done()
    queue.close()

    # Without a worker no leader has the group in memory: what is stored is shown.
    eventually(lambda: not tidelog("queue", "describe", group, "--json").json[0]["members"])
    [row] = [row for row in tidelog("queue", "list", "--json").json if row["group"] == group]
    assert (row["state"], row["depth"], row["in_flight"], row["delayed"]) == ("Empty", 2, 0, 1)
    assert row["oldest_age_ms"] is not None
    assert row["scheduled"] is None, "no leader has looked through the records"
    peeked = tidelog("queue", "peek", group, "--json").json_lines
    assert [(record["offset"], record["state"], record["deliveries"]) for record in peeked] == [
        (1, "delayed", 1),
        (5, "scheduled", 0),
    ]
    assert "once: 1" in tidelog("queue", "stats", group, "--sample", "0").out


def test_a_queue_is_moved_and_emptied(tidelog: Tidelog, jobs: str, group: str, workers: Workers) -> None:
    put(tidelog, jobs, [json.dumps({"value": str(number)}) for number in range(4)])
    queue = workers(jobs)
    for job in take(queue, 4):
        job.done()
    queue.close()

    def start() -> int | None:
        [described] = tidelog("queue", "describe", group, "--json").json
        found: int | None = of_partition(described)["start_offset"]
        return None if described["members"] else found

    eventually(lambda: start() == 4)
    plan = tidelog("queue", "reset", group, "--topic", f"{jobs}:0", "--to-offset", "1", "--json").json
    assert (plan["executed"], plan["partitions"][0]["new_offset"]) == (False, 1)
    assert start() == 4
    assert tidelog("queue", "reset", group, "--topic", f"{jobs}:0", "--to-offset", "1", "--execute").code == 0
    assert start() == 1
    [row] = [row for row in tidelog("queue", "list", "--json").json if row["group"] == group]
    assert (row["state"], row["depth"]) == ("Empty", 3)
    assert tidelog("queue", "purge", group, typed=b"n\n").code == Exit.FAILED
    assert start() == 1
    assert tidelog("queue", "purge", group, "--json").json["dropped"] == 3
    assert start() == 4
    assert tidelog("queue", "reset", group, "--all-topics", "--by-duration", "1h", "--execute").code == 0
    assert start() == 0
    assert [job.value for job in take(workers(jobs), 4)] == [b"0", b"1", b"2", b"3"]


def test_a_share_group_among_other_groups(tidelog: Tidelog, jobs: str, group: str, workers: Workers) -> None:
    put(tidelog, jobs, ['{"value": "x"}'])
    queue = workers(jobs)
    take(queue, 1)
    listed = tidelog("group", "list", "--type", "share", "--json").json
    assert {"group": group, "state": "Stable", "type": "Share", "simple": False} in listed
    assert f"tidelog queue describe {group}" in tidelog("group", "describe", group).out
    assert tidelog("group", "members", group, "--json").json[0]["lag"] is None
    assert f"tidelog queue stats {group}" in tidelog("group", "lag", group).err
    assert group not in tidelog("group", "lag").out
    reset = tidelog("group", "reset-offsets", group, "--topic", jobs, "--to-latest")
    assert (reset.code, f"tidelog queue reset {group}" in reset.err) == (Exit.REFUSED, True)
    assert tidelog("group", "delete", group, "--yes").code == Exit.REFUSED
    queue.close()
    eventually(lambda: tidelog("group", "delete", group, "--yes").code == Exit.OK)
    missing = tidelog("queue", "describe", group)
    assert (missing.code, "There is no share group" in missing.err) == (Exit.NOT_FOUND, True)
