"""Redrives on a log in memory: interrupted at every request, two at once, with filters, after long breaks.

Whatever happens, the target gets each letter that was wanted once, and the others stay dead letters.
"""

import random
from collections.abc import Callable

import pytest

from tests.rigs.redrives import DEAD, JOBS, TARGET, Cluster, Interrupted
from tidelog.base.errors import KafkaError
from tidelog.cli.queue.dead_letters.letter import REDRIVEN, Letter
from tidelog.cli.queue.dead_letters.redriver import HOUR_MS, Redriver
from tidelog.wire.record import Record


def even(letter: Letter) -> bool:
    return letter.key is not None and int(letter.key[1:]) % 2 == 0


def every(_: Letter) -> bool:
    return True


def redrive(
    cluster: Cluster, takes: Callable[[Letter], bool] = every, *, size: int = 3, resend: bool = False
) -> Redriver:
    redriver = cluster.redriver()
    redriver.catch_up()
    for claim in redriver.ledger.open_claims:
        redriver.complete(claim, 1 << 20, resend=resend)
    redriver.catch_up()
    wanted = [letter for letter in redriver.letters() if takes(letter)]
    for first in range(0, len(wanted), size):
        redriver.put_back(wanted[first : first + size], TARGET, 1 << 20)
    return redriver


def left(cluster: Cluster) -> list[bytes]:
    redriver = cluster.redriver()
    redriver.catch_up()
    return [letter.key or b"" for letter in redriver.letters()]


def test_all_are_put_back_once_without_what_made_them_dead() -> None:
    cluster = Cluster()
    cluster.bury(7)
    redrive(cluster)
    assert cluster.put_back == [b"k%d" % number for number in range(7)]
    assert left(cluster) == []
    assert open_letters(cluster) == []
    redrive(cluster)
    assert len(cluster.put_back) == 7
    [_, copy] = cluster.topics[JOBS].records_[0]
    assert copy.headers == [("own", b"1"), (REDRIVEN, b"1")]


def test_what_a_filter_passes_over_stays_for_a_later_redrive() -> None:
    cluster = Cluster()
    cluster.bury(6)
    redrive(cluster, even)
    assert cluster.put_back == [b"k0", b"k2", b"k4"]
    assert left(cluster) == [b"k1", b"k3", b"k5"]
    redrive(cluster)
    assert sorted(cluster.put_back) == [b"k%d" % number for number in range(6)]


def test_interrupted_at_every_request() -> None:
    for requests in range(60):
        cluster = Cluster()
        cluster.bury(6)
        cluster.requests_left = requests
        try:
            redrive(cluster, even, size=2)
        except Interrupted:
            pass
        else:
            assert requests > 10, "the test interrupts nothing"
            break
        cluster.requests_left = None
        known = {*left(cluster), *open_letters(cluster), *cluster.put_back}
        assert known == {b"k%d" % number for number in range(6)}, "a letter is lost"
        redrive(cluster, even, size=2)
        assert sorted(cluster.put_back) == [b"k0", b"k2", b"k4"], f"after {requests} requests"
        assert left(cluster) == [b"k1", b"k3", b"k5"]
    else:
        pytest.fail("never ran to its end")


def test_a_claim_of_many_ranges_is_completed_in_one_pass() -> None:
    cluster = Cluster()
    cluster.bury(100)
    cluster.requests_left = 4  # reads the claims twice and the letters, and writes a claim
    with pytest.raises(Interrupted):
        redrive(cluster, even, size=50)
    cluster.requests_left = None
    redriver = cluster.redriver()
    redriver.catch_up()
    [claim] = redriver.ledger.open_claims
    assert len(claim.letters) == 50
    requests = 0

    def count() -> None:
        nonlocal requests
        requests += 1

    cluster.before_request = count
    assert redriver.complete(claim, 1 << 20) == 50
    assert requests == 3, "one read, the copies, and the end of the claim"
    assert cluster.put_back == [b"k%d" % number for number in range(0, 100, 2)]


def open_letters(cluster: Cluster) -> list[bytes]:
    redriver = cluster.redriver()
    redriver.catch_up()
    return [
        b"k%d" % offset
        for claim in redriver.ledger.open_claims
        for first, last in claim.letters
        for offset in range(first, last + 1)
    ]


@pytest.mark.parametrize("seed", range(200))
def test_two_at_once(seed: int) -> None:
    """The second redrive runs whole between two requests of the first, which may end there as well."""
    chance = random.Random(seed)
    cluster = Cluster()
    cluster.bury(9)
    at, dies = chance.randrange(40), chance.random() < 0.4
    filters = [chance.choice([even, every]) for _ in range(2)]
    sizes = [chance.randrange(1, 6) for _ in range(2)]
    count = 0

    def meddle() -> None:
        nonlocal count
        count += 1
        if count == at:
            cluster.before_request = lambda: None
            redrive(cluster, filters[1], size=sizes[1])
            if dies:
                raise Interrupted

    cluster.before_request = meddle
    try:
        redrive(cluster, filters[0], size=sizes[0])
    except Interrupted:
        pass
    cluster.before_request = lambda: None
    redrive(cluster)
    assert sorted(cluster.put_back) == [b"k%d" % number for number in range(9)]
    assert left(cluster) == []


def interrupted_after_the_claim(requests: int) -> Cluster:
    cluster = Cluster()
    cluster.bury(3)
    cluster.requests_left = requests
    with pytest.raises(Interrupted):
        redrive(cluster)
    cluster.requests_left = None
    assert open_letters(cluster)
    return cluster


def after_send() -> Cluster:
    for requests in range(30):
        cluster = interrupted_after_the_claim(requests) if requests > 4 else None
        if cluster is not None and cluster.put_back:
            return cluster
    raise AssertionError("no interruption between the send and its end")


def test_a_claim_whose_target_was_deleted_frees_its_letters() -> None:
    cluster = after_send()
    cluster.create(JOBS)
    redrive(cluster)
    assert cluster.put_back == [b"k0", b"k1", b"k2"], "what was sent went with the old topic"


def test_the_letters_of_a_deleted_target_are_dead_letters_again() -> None:
    cluster = after_send()
    cluster.create(JOBS)
    redrive(cluster, lambda _: False)
    assert cluster.put_back == []
    assert left(cluster) == [b"k0", b"k1", b"k2"]


def test_a_claim_whose_answer_was_lost_is_completed_by_another_redrive() -> None:
    """The retry appends the claim again, behind the end of the first."""
    cluster = Cluster()
    cluster.bury(2)
    redriver = cluster.redriver()
    log, append = cluster.topics[DEAD], cluster.topics[DEAD].append
    letters = list(redriver.letters())

    def append_twice(batch: bytearray) -> int:
        append(batch)
        log.append = append  # type: ignore[method-assign]
        redrive(cluster)
        return append(batch)

    log.append = append_twice  # type: ignore[method-assign]
    assert redriver.put_back(letters, TARGET, 1 << 20) == 2
    assert cluster.put_back == [b"k0", b"k1"]
    assert open_letters(cluster) == left(cluster) == []


def test_an_old_claim_is_left_to_the_user() -> None:
    cluster = after_send()
    cluster.now += 11 * HOUR_MS + 1
    assert [claim.count for claim in redrive(cluster).unsure] == [3]
    assert [claim.count for claim in redrive(cluster, resend=True).unsure] == [3], "too early to be sure"
    cluster.now += HOUR_MS
    cluster.topics[JOBS].producers.clear()
    assert [claim.count for claim in redrive(cluster).unsure] == [3]
    assert len(cluster.put_back) == 3
    assert redrive(cluster, resend=True).unsure == []
    assert len(cluster.put_back) == 6, "the user has decided"


def test_a_machine_that_slept_sends_nothing_for_its_old_claim() -> None:
    cluster = Cluster()
    cluster.bury(1)
    redriver = cluster.redriver()
    [letter] = redriver.letters()
    count = 0

    def sleep() -> None:
        nonlocal count
        count += 1
        if count == 2:  # after the claim was written
            cluster.now += 12 * HOUR_MS

    cluster.before_request = sleep
    with pytest.raises(KafkaError):
        redriver.put_back([letter], TARGET, 1 << 20)
    assert cluster.put_back == []


def test_letters_that_retention_took_since_do_not_matter() -> None:
    cluster = after_send()
    log = cluster.topics[DEAD]
    log.records_[0] = (log.records_[0][0], Record(0, 0, None, None))  # reads as no letter
    redrive(cluster)
    assert cluster.put_back == [b"k0", b"k1", b"k2"]
