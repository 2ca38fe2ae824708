from tidelog.metadata.leaders.layout import Layout, PlacedPartition, UsableBroker

SPOTS = [UsableBroker(1, "a"), UsableBroker(2, "a"), UsableBroker(3, "b"), UsableBroker(4)]


def layout(*lists):
    return Layout(SPOTS, [PlacedPartition("t", index, replicas) for index, replicas in enumerate(lists)])


def test_loads_follow_moves():
    made = layout((1, 2), (1, 3))
    made.move(("t", 0), 1, 4)
    assert made.replicas["t", 0] == (4, 2)
    assert made.load == {1: 1, 2: 1, 3: 1, 4: 1}
    assert made.held[1] == {"t": {("t", 1): None}}


def test_crowding_counts_pairs_in_a_rack():
    made = layout()
    assert [made.crowding(replicas) for replicas in ((1, 2), (1, 3), (1, 2, 3, 4), (1, 9))] == [1, 0, 1, 0]


def test_moves_that_may_not_be():
    made = layout((1, 3))
    assert not made.may_move(("t", 0), 2, 4)  # it is not there
    assert not made.may_move(("t", 0), 1, 3)  # two on one broker
    assert not made.may_move(("t", 0), 3, 2)  # two in one rack
    assert made.may_move(("t", 0), 1, 2)
    assert made.may_move(("t", 0), 3, 4)


def test_target_in_another_rack_is_better_than_an_empty_broker():
    assert layout((1, 3), (4, 3)).best_target(("t", 0), 3) == 4
    assert layout((1, 2, 3, 4)).best_target(("t", 0), 1) is None


def test_misplaced_replicas():
    assert list(layout((1, 9), (8, 2)).misplaced()) == [(("t", 0), 9), (("t", 1), 8)]


CORES = [
    UsableBroker(1, "x", "a"),
    UsableBroker(2, "x", "a"),
    UsableBroker(3, "x", "b"),
    UsableBroker(4, "y", "c"),
]


def test_a_shared_machine_weighs_more_than_a_shared_rack():
    made = Layout(CORES, [PlacedPartition("t", 0, (1, 3))])
    assert [made.strain(replicas) for replicas in ((1, 4), (1, 3), (1, 2), (1, 9))] == [
        (0, 0),
        (0, 1),
        (1, 1),
        (0, 0),
    ]
    assert not made.may_move(("t", 0), 3, 2)  # two on one machine, though in the same rack as before
    assert made.may_move(("t", 0), 1, 2)
    assert made.best_target(("t", 0), 3) == 4


def test_machines_of_brokers_that_take_nothing_stay_taken():
    dead = UsableBroker(9, None, "c")
    made = Layout([*CORES, UsableBroker(5)], [PlacedPartition("t", 0, (1, 9))], [dead])
    assert made.best_target(("t", 0), 1) == 2
    made = Layout(CORES[2:], [PlacedPartition("t", 0, (1, 9))], [dead])
    assert made.best_target(("t", 0), 1) == 3
