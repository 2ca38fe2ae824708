from tidelog.server.clock import SystemClock, SystemRandom


def test_the_clock_tells_milliseconds_and_never_goes_back() -> None:
    clock = SystemClock()
    assert clock.now_ms() > 1_700_000_000_000
    assert clock.monotonic() <= clock.monotonic()


def test_randomness_keeps_its_bounds() -> None:
    random = SystemRandom()
    assert {random.below(3) for _ in range(200)} == {0, 1, 2}
    assert len(random.bytes(16)) == 16
    assert random.bytes(16) != random.bytes(16)
