"""Topics that a try of a request made are known to its later tries, and no id is given twice."""

from itertools import islice

from tidelog.broker.requests.tries import TRIES_MAX, Tries


def test_each_try_gives_an_id_of_its_own_and_knows_those_before() -> None:
    tries = Tries(b"token")
    given = []
    for _ in range(4):
        tries.begin()
        ids = list(tries.topic_ids("t"))
        assert ids[1:] == given[::-1]
        given.append(ids[0])
    assert len(set(given)) == 4
    assert list(Tries(b"token", 3).topic_ids("t")) == given[::-1], "wherever they are asked for"
    assert not set(given) & {*Tries(b"token", 3).topic_ids("u"), *Tries(b"other", 3).topic_ids("t")}


def test_no_number_of_a_try_takes_for_ever() -> None:
    assert len(list(Tries(b"token", 2**31 - 1).topic_ids("t"))) == TRIES_MAX
    assert len(list(islice(Tries(b"token", 0).topic_ids("t"), 2))) == 1
