"""What a purge finds in a dead-letter topic: it refuses to delete what the user does not mean."""

import pytest

from tests.rigs.redrives import DEAD, TARGET, Cluster, Interrupted
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.queue.dead_letters.contents import Allowed, Contents, check_purge, look_through
from tidelog.wire.record import Record, write_batch

PLAIN = Record(0, 1, b"key", b"value", [("own", b"1")])


def contents(cluster: Cluster) -> tuple[Contents, int]:
    redriver, found = cluster.redriver(), Contents()
    redriver.catch_up()
    return found, look_through(redriver, found)


def refusal(found: Contents, *, other_groups: bool = False, begun: bool = False) -> str:
    with pytest.raises(CliError) as refused:
        check_purge(found, DEAD, "g", Allowed(other_groups, begun))
    assert refused.value.code == Exit.REFUSED
    return str(refused.value)


def put_back(cluster: Cluster) -> None:
    redriver = cluster.redriver()
    redriver.catch_up()
    redriver.put_back(list(redriver.letters()), TARGET, 1 << 20)


def interrupted(count: int) -> Cluster:
    """A redrive has written its claim, and no more."""
    cluster = Cluster()
    cluster.bury(count)
    for requests in range(20):
        cluster.requests_left = requests
        with pytest.raises(Interrupted):
            put_back(cluster)
        cluster.requests_left = None
        if len(cluster.topics[DEAD].records_) > count:
            return cluster
    raise AssertionError("no claim")


def test_letters_of_the_group_alone() -> None:
    cluster = Cluster()
    cluster.bury(3)
    found, end = contents(cluster)
    assert (dict(found.letters), found.begun, dict(found.others), end) == ({"g": 3}, 0, {}, 3)
    check_purge(found, DEAD, "g", Allowed())


def test_what_a_redrive_has_put_back_and_its_steps_hinder_nothing() -> None:
    cluster = Cluster()
    cluster.bury(3)
    put_back(cluster)
    cluster.bury(1)
    found, end = contents(cluster)
    assert (dict(found.letters), found.begun, dict(found.others), end) == ({"g": 1}, 0, {}, 6)
    check_purge(found, DEAD, "g", Allowed())


def test_records_that_are_no_letters_are_never_deleted() -> None:
    cluster = Cluster()
    cluster.bury(2)
    log = cluster.topics[DEAD]
    for _ in range(3):
        log.append(write_batch([PLAIN]))
    found, _ = contents(cluster)
    assert (found.total, found.others.total()) == (2, 3)
    assert f"3 records that are no dead letters, in {DEAD}[0]" in refusal(found)
    assert "3 records" in refusal(found, other_groups=True, begun=True)


def test_damaged_steps_are_records_like_others() -> None:
    cluster = Cluster()
    cluster.topics[DEAD].append(write_batch([PLAIN._replace(headers=[("tidelog-redrive", b"claim")])]))
    found, _ = contents(cluster)
    assert f"1 record that is no dead letter, in {DEAD}[0]" in refusal(found)


def test_letters_of_a_redrive_that_is_not_done_count_and_need_consent() -> None:
    found, _ = contents(interrupted(3))
    assert (dict(found.letters), found.begun) == ({"g": 3}, 3)
    assert "begun to put back 3" in refusal(found, other_groups=True)
    check_purge(found, DEAD, "g", Allowed(begun=True))


def test_letters_of_other_groups_need_consent() -> None:
    found = Contents()
    found.letters.update({"g": 1, "b": 2000, "a": 1})
    assert "1 of a, 2,000 of b." in refusal(found, begun=True)
    check_purge(found, DEAD, "g", Allowed(other_groups=True))


def test_only_what_was_looked_at_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An open transaction hides what comes after its first record."""
    cluster = Cluster()
    cluster.bury(2)
    log = cluster.topics[DEAD]
    log.append(write_batch([PLAIN]))
    monkeypatch.setattr(log, "bounds", lambda *, read_committed=False: (0, 2 if read_committed else 3))
    found, end = contents(cluster)
    assert (found.total, found.others.total(), end) == (2, 0, 2)


def test_what_came_after_the_claims_were_read_is_left() -> None:
    cluster = Cluster()
    cluster.bury(2)
    redriver, found = cluster.redriver(), Contents()
    redriver.catch_up()
    cluster.bury(2)
    assert look_through(redriver, found) == 2
    assert found.total == 2
