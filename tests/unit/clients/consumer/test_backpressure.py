"""The buffer never overflows, the group never waits, and a stuck application is noticed."""

from tidelog.clients.consumer.backpressure import Action, Backpressure, Step


def flow() -> Backpressure:
    return Backpressure(capacity=16, patience_s=300)  # almost full at 14


def test_an_empty_buffer_is_filled_up_to_the_reserve() -> None:
    assert flow().next_step(0, 100.0, 100.0) == Step(Action.TAKE, 14)
    assert flow().next_step(13, 100.0, 100.0) == Step(Action.TAKE, 1)


def test_an_almost_full_one_rests_but_serves_the_group_every_second() -> None:
    pressure = flow()
    pressure.next_step(0, 100.0, 100.0)
    assert pressure.next_step(14, 100.5, 100.0) == Step(Action.REST)
    assert pressure.next_step(14, 101.0, 100.0) == Step(Action.TAKE, 1)
    assert pressure.next_step(15, 101.5, 100.0) == Step(Action.REST)


def test_when_the_reserve_is_used_up_fetching_is_held_until_half_is_taken() -> None:
    pressure = flow()
    pressure.next_step(0, 100.0, 100.0)
    assert pressure.next_step(16, 102.0, 101.0) == Step(Action.HOLD, 1)
    assert pressure.next_step(12, 102.5, 102.0) == Step(Action.REST)
    assert pressure.next_step(12, 103.5, 102.0) == Step(Action.TAKE, 1), "paused, but the group is served"
    assert pressure.next_step(8, 103.6, 103.5) == Step(Action.RELEASE, 6)
    assert pressure.next_step(8, 103.7, 103.5) == Step(Action.TAKE, 6)


def test_an_application_that_takes_nothing_is_left_to_the_group() -> None:
    pressure = flow()
    pressure.next_step(0, 100.0, 100.0)
    assert pressure.next_step(14, 500.0, 100.0) == Step(Action.REST)
    assert pressure.next_step(14, 501.0, 500.5) == Step(Action.TAKE, 1), "it came back"


def test_whatever_happens_the_buffer_stays_within_its_bounds() -> None:
    pressure = flow()
    buffered, now = 0, 0.0
    for turn in range(2000):
        now += 0.3
        step = pressure.next_step(buffered, now, now)
        if step.action in (Action.TAKE, Action.RELEASE) and not pressure.held:
            buffered += step.limit
        assert buffered <= 16
        if turn % 7 == 0:
            buffered = max(0, buffered - 1)
    assert buffered >= 8
