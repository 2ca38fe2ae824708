from tidelog.server.memory_budget import LARGE_FRAME_BYTES, MemoryBudget

SMALL = 1000
LARGE = LARGE_FRAME_BYTES + 1


class Frame:
    """A connection that waits for memory for one frame."""

    def __init__(self, budget: MemoryBudget) -> None:
        self.budget = budget
        self.held = 0
        self.overdue = False

    def take(self, count: int, frame_size: int = SMALL, now: float = 0.0) -> bool:
        granted = self.budget.take(self, count, frame_size, now)
        self.held += count if granted else 0
        return granted

    def memory_granted(self, count: int) -> None:
        self.held += count

    def memory_overdue(self) -> None:
        self.overdue = True
        self.end()

    def end(self) -> None:
        self.budget.forget(self)
        self.budget.change(-self.held)
        self.held = 0


def make(limit: int = 100) -> tuple[MemoryBudget, list[Frame]]:
    budget = MemoryBudget(limit, express_after_seconds=1.0, express_seconds=10.0)
    return budget, [Frame(budget) for _ in range(4)]


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


def test_a_large_waiter_does_not_hold_up_small_ones() -> None:
    budget, (first, large, small, _) = make()
    first.take(100)
    assert not large.take(70, LARGE)
    assert not small.take(20)
    budget.change(-30)
    assert (large.held, small.held) == (0, 20)


def test_the_longest_waiter_gets_the_express_lane_and_only_one_does() -> None:
    budget, (holder, first, second, _) = make()
    holder.take(100)
    first.take(50, LARGE, now=1.0)
    second.take(50, SMALL, now=1.5)
    budget.tick(1.9)
    assert first.held == 0
    budget.tick(2.1)
    assert first.held == 50
    budget.tick(3.0)
    assert second.held == 0
    assert first.take(500, LARGE, now=3.0)  # beyond the cap until its frame is whole
    budget.frame_arrived(first)
    budget.tick(3.1)
    assert second.held == 50


def test_who_is_late_in_the_express_lane_is_told_to_go() -> None:
    budget, (holder, first, second, _) = make()
    holder.take(100)
    first.take(50, now=0.0)
    second.take(50, now=0.0)
    budget.tick(1.0)
    budget.tick(10.9)
    assert not first.overdue
    budget.tick(11.0)
    assert first.overdue
    assert second.held == 50


def test_half_frames_that_hold_everything_cannot_block_for_ever() -> None:
    budget, _ = make(limit=1000)
    frames = [Frame(budget) for _ in range(20)]
    for frame in frames:
        frame.take(100, LARGE, now=0.0)
    waiting = [frame for frame in frames if not frame.take(100, LARGE, now=0.0)]
    assert len(waiting) == 20
    now = 0.0
    while budget.waiting:
        now += 1.0
        budget.tick(now)
        assert now < 1000, "stuck"
    assert all(frame.held or frame.overdue for frame in frames)


def test_forgetting_a_waiter_takes_it_out_of_the_line() -> None:
    budget, (first, second, third, _) = make()
    first.take(100)
    second.take(50)
    third.take(60)
    second.end()
    first.end()
    assert (second.held, third.held) == (0, 60)
    assert budget.held == 60
