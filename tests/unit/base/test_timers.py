from tidelog.base.timers import Timers


def rig():
    timers, fired = Timers(), []

    def make(name):
        return timers.timer(lambda _: fired.append(name))

    def run(now):
        while (timer := timers.pop_due(now)) is not None:
            timer.action(None)
        return fired

    return timers, make, run


def test_timers_run_in_order_of_their_deadlines():
    timers, make, run = rig()
    for name, at in (("c", 3), ("a", 1), ("b", 2), ("later", 9)):
        make(name).start(at)
    assert timers.next_deadline == 1
    assert run(3) == ["a", "b", "c"]
    assert timers.next_deadline == 9


def test_equal_deadlines_run_in_the_order_they_were_set():
    _, make, run = rig()
    for name in "xyz":
        make(name).start(5)
    assert run(5) == ["x", "y", "z"]


def test_moving_later_needs_no_new_entry_until_the_old_one_is_due():
    timers, make, run = rig()
    timer = make("session")
    timer.start(10)
    for at in range(11, 1000):
        timer.start(at)
    assert len(timers) == 1
    assert run(998) == []
    assert timers.next_deadline == 999
    assert run(999) == ["session"]
    assert timers.next_deadline is None


def test_moving_earlier_fires_once():
    timers, make, run = rig()
    timer = make("one")
    timer.start(10)
    timer.start(5)
    assert timers.next_deadline == 5
    assert run(20) == ["one"]
    assert len(timers) == 0


def test_moving_earlier_and_back_later_fires_once():
    _, make, run = rig()
    timer = make("one")
    for at in (10, 5, 10):
        timer.start(at)
    assert run(9) == []
    assert run(30) == ["one"]


def test_cancelled_timers_do_not_run_and_can_start_again():
    timers, make, run = rig()
    timer = make("one")
    timer.start(5)
    timer.cancel()
    timer.cancel()
    assert run(6) == []
    assert timers.next_deadline is None
    timer.start(7)
    assert run(7) == ["one"]


def test_a_timer_may_start_itself_again_while_it_runs():
    timers, ran = Timers(), []

    def again(step):
        ran.append(step)
        timer.start(step + 10)

    timer = timers.timer(again)
    timer.start(1)
    popped = timers.pop_due(1)
    popped.action(1)
    assert timers.pop_due(10) is None
    assert timers.pop_due(11) is timer
    assert ran == [1]


def test_many_cancelled_timers_leave_the_heap():
    timers, make, run = rig()
    kept = make("kept")
    kept.start(50_000)
    for at in range(10_000):
        timer = make(at)
        timer.start(100_000 + at)
        timer.cancel()
    assert len(timers) < 3000
    assert run(200_000) == ["kept"]
