"""A consumer reads in its own rack where somebody there has what it asks for."""

from tidelog.replication.preferred_replica import preferred_replica

RACKS = {1: "north", 2: "south", 3: "south"}


def caught_up(trio) -> None:
    trio.start()
    trio.produce(1)
    for id in (2, 3, 2, 3):
        trio.fetch(id)


def choose(trio, offset: int, rack: str = "south", racks: dict[int, str | None] | None = None) -> int | None:
    return preferred_replica(trio[1], offset, rack, (RACKS if racks is None else racks).get)


def test_a_follower_in_the_clients_rack(trio) -> None:
    caught_up(trio)
    trio.now += 1
    trio.fetch(3)
    assert choose(trio, 1) == 3, "of two that have the same, the one that was up to date last"
    assert choose(trio, 1, racks={2: "south"}) == 2


def test_the_leader_where_nobody_is_nearer(trio) -> None:
    caught_up(trio)
    assert choose(trio, 1, "") is None
    assert choose(trio, 1, "north") is None
    assert choose(trio, 1, "west") is None
    assert choose(trio, 1, racks={}) is None, "a broker that cannot be reached has no rack"


def test_not_one_who_lags_or_is_out_of_sync(trio) -> None:
    caught_up(trio)
    trio.produce(1)
    assert choose(trio, 2) is None
    trio.fetch(3)
    trio.fetch(3)
    assert choose(trio, 2) == 3
    trio.decide(isr=(1, 2))
    trio.tell(1)
    trio.fetch(3)
    assert choose(trio, 2) is None


def test_not_one_who_has_deleted_what_is_asked_for(trio) -> None:
    caught_up(trio)
    trio[1].leader.follower_fetched(2, 0, 1, trio.now, log_start=1)
    trio[1].leader.follower_fetched(3, 0, 1, trio.now, log_start=1)
    assert choose(trio, 0) is None


def test_a_follower_sends_nobody_away(trio) -> None:
    caught_up(trio)
    assert preferred_replica(trio[2], 0, "south", RACKS.get) is None
