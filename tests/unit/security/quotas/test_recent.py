"""What is used stays, what is idle goes, and there is never too much."""

from tidelog.security.quotas.recent import Recent


def test_what_is_looked_up_outlives_any_number_of_ticks() -> None:
    recent: Recent[str, int] = Recent(10)
    recent.put("used", 1)
    recent.put("idle", 2)
    recent.tick()
    assert recent.find("used") == 1
    recent.tick()
    assert (recent.find("used"), recent.find("idle"), len(recent)) == (1, None, 1)


def test_a_full_generation_ends() -> None:
    recent: Recent[int, int] = Recent(10)
    for number in range(1000):
        recent.put(number, number)
        recent.find(0)
    assert len(recent) <= 20
    assert recent.find(0) == 0


def test_clear() -> None:
    recent: Recent[int, int] = Recent(10)
    recent.put(1, 1)
    recent.clear()
    assert (len(recent), recent.find(1)) == (0, None)
