import pytest

from tidelog.server.connection.memory_budget import (
    HUGE_FRAME_BYTES,
    LARGE_FRAME_BYTES,
    MemoryBudget,
    seconds_for,
)

SMALL = 1000
LARGE = LARGE_FRAME_BYTES + 1
HUGE = HUGE_FRAME_BYTES + 1
PATIENCE, STALL = 1.0, 2.0


class Frame:
    """A connection that waits for memory for one frame."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        self.held = 0
        self.begun_bytes = 0
        self.is_silent = False
        self.overdue = False

    def begin(self, count: int) -> None:
        """So much of its frame is in memory before it asks for room."""
        self.begun_bytes = count
        self.held += count
        self.budget.change(count)

    def take(self, count: int, frame_size: int = SMALL, now: float = 0.0) -> bool:
        granted = self.budget.take(self, count, frame_size, now)
        self.held += count if granted else 0
        return granted

    def memory_granted(self, count: int) -> None:
        self.held += count

    def is_late(self, now: float, due: float) -> bool:
        return self.is_silent or now >= due

    def memory_overdue(self) -> None:
        self.overdue = True
        self.end()

    def end(self) -> None:
        self.budget.forget(self)
        self.budget.change(-self.held)
        self.held = 0


def make(limit: int = 100, count: int = 4) -> tuple[MemoryBudget, list[Frame]]:
    budget = MemoryBudget(limit, PATIENCE, STALL)
    return budget, [Frame(budget) for _ in range(count)]


def test_bytes_are_granted_oldest_first_as_they_come_back() -> None:
    budget, (first, second, third, _) = make()
    assert first.take(90)
    assert not second.take(60)
    assert not third.take(10)
    assert budget.waiting == 2
    first.end()
    assert (second.held, third.held) == (60, 10)
    assert budget.held == 70


def test_a_waiter_is_not_overtaken_by_one_behind_it_in_line() -> None:
    budget, (first, second, third, _) = make()
    first.take(60)
    budget.change(20)
    assert not second.take(50)
    assert not third.take(30)
    budget.change(-20)  # 40 are free: enough for the third, but the second was first
    assert (second.held, third.held) == (0, 0)
    first.end()
    assert (second.held, third.held) == (50, 30)


def test_large_frames_leave_a_quarter_to_small_ones() -> None:
    _, (first, second, small, _) = make()
    assert first.take(75, LARGE)
    assert not second.take(1, LARGE)
    assert small.take(25, SMALL)


def test_huge_frames_leave_half_to_others() -> None:
    _, (first, second, large, _) = make()
    assert first.take(40, HUGE)
    assert not second.take(20, HUGE)
    assert large.take(35, LARGE)


@pytest.mark.parametrize("size", [LARGE, HUGE])
def test_one_alone_may_take_more_than_its_share_and_never_more_than_there_is(size: int) -> None:
    budget, (first, second, _, _) = make()
    budget.change(10)
    assert first.take(90, size)
    first.end()
    budget.change(1)
    assert not second.take(90, size)


def test_a_waiter_holds_up_nobody_with_a_smaller_frame() -> None:
    budget, (first, huge, large, small) = make()
    first.take(100)
    assert not huge.take(40, HUGE)
    assert not large.take(40, LARGE)
    assert not small.take(20)
    budget.change(-30)
    assert (huge.held, large.held, small.held) == (0, 0, 20)
    budget.change(-55)
    assert (huge.held, large.held) == (0, 40)


def test_a_frame_that_does_not_arrive_makes_way_for_one_that_waits() -> None:
    budget, (silent, other, waiting, _) = make()
    silent.take(40, now=99.5)
    other.take(60, now=99.5)
    silent.is_silent = True
    budget.tick(100.0)
    assert not silent.overdue  # nobody needs its memory
    assert not waiting.take(30, now=100.0)
    budget.tick(100.9)
    assert not silent.overdue
    budget.tick(101.0)
    assert (silent.overdue, other.overdue) == (True, False)
    assert waiting.held == 30


def test_a_frame_that_arrives_too_slowly_makes_way() -> None:
    budget, (slow, waiting, _, _) = make(limit=10 * LARGE)
    assert slow.take(9 * LARGE, LARGE, now=0.0)
    assert not waiting.take(3 * LARGE, LARGE, now=0.0)
    due = STALL + seconds_for(LARGE)
    budget.tick(due - 0.01)
    assert not slow.overdue
    budget.tick(due)
    assert slow.overdue
    assert waiting.held == 3 * LARGE


def test_a_batch_may_come_over_a_thin_line() -> None:
    """A megabyte at 128 KiB/s, half of which goes to another broker, takes 16 s."""
    assert STALL + seconds_for(1_000_000) > 1_000_000 / (64 * 1024)
    assert seconds_for(100 * 1024 * 1024) < 420  # much memory is not lent for long


def test_the_time_in_line_is_not_held_against_a_frame() -> None:
    budget, (holder, waiting, other, _) = make()
    holder.take(100, now=0.0)
    assert not waiting.take(60, now=0.0)
    assert not other.take(60, now=0.0)
    budget.tick(1.0)
    holder.end()
    assert waiting.held == 60
    budget.tick(1.5)
    assert not waiting.overdue
    budget.tick(1.0 + STALL + 1)
    assert waiting.overdue
    assert other.held == 60


def test_beginnings_of_frames_do_not_keep_each_other_waiting_for_ever() -> None:
    """The smallest frame goes on, those that announced most make way, and no more than needed."""
    budget, frames = make(count=10)
    for frame in frames:
        frame.begin(10)
    ordinary, *greedy = frames
    for frame in greedy:
        assert not frame.take(50, HUGE)
    assert not ordinary.take(30, LARGE)
    budget.tick(PATIENCE - 0.1)
    assert not any(frame.overdue for frame in frames)
    budget.tick(PATIENCE)
    assert ordinary.held == 40
    assert sum(frame.overdue for frame in greedy) == 3


def test_beginnings_stay_where_it_would_not_help_if_they_went() -> None:
    """Requests that are being answered hold the memory: it comes back by itself."""
    budget, (first, second, _, _) = make()
    budget.change(90)
    first.begin(5)
    second.begin(5)
    assert not first.take(30)
    assert not second.take(30)
    budget.tick(50.0)
    assert not any(frame.overdue for frame in (first, second))
    budget.change(-50)
    assert first.held == 35


def test_what_was_admitted_never_exceeds_the_cap() -> None:
    budget, frames = make(limit=1000, count=60)
    for frame in frames:
        frame.begin(7)
    for number, frame in enumerate(frames):
        frame.take(100 + number, [SMALL, LARGE, HUGE][number % 3], now=0.0)
    now = 0.0
    while budget.waiting:
        now += 1.0
        budget.tick(now)
        assert budget.held <= 1000
        for frame in [frame for frame in frames if frame.held > 100]:
            frame.is_silent = True  # none of them ever finishes
        assert now < 1000, "stuck"
    assert all(frame.held > 100 or frame.overdue for frame in frames)


def test_forgetting_a_waiter_takes_it_out_of_the_line() -> None:
    budget, (first, second, third, _) = make()
    first.take(100)
    second.take(50)
    third.take(60)
    second.end()
    first.end()
    assert (second.held, third.held) == (0, 60)
    assert budget.held == 60
