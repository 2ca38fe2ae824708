from tidelog.base.errors import ErrorCode
from tidelog.storage.space_reserve import AUTOMATIC, NO_RESERVE, SpaceReserve, reserve_of

MIB = 1 << 20


def test_an_automatic_reserve_fits_small_and_large_disks() -> None:
    assert reserve_of(AUTOMATIC, 16 * MIB) == 16 * MIB // 100
    assert reserve_of(AUTOMATIC, 10 * 1024 * MIB) == 10 * 1024 * MIB // 100
    assert reserve_of(AUTOMATIC, 1 << 42) == 512 * MIB
    assert reserve_of(0, 1 << 42) == 0
    assert reserve_of(7 * MIB, 16 * MIB) == 7 * MIB


def test_records_are_refused_below_the_reserve_and_accepted_with_a_quarter_more() -> None:
    reserve = SpaceReserve("/data")
    assert not reserve.measured(100 * MIB, 20 * MIB, 20 * MIB)
    assert not reserve.is_refusing
    assert reserve.measured(100 * MIB, 20 * MIB - 1, 20 * MIB)
    assert reserve.is_refusing
    assert not reserve.measured(100 * MIB, 25 * MIB - 1, 20 * MIB)
    assert reserve.is_refusing, "not for a few bytes"
    assert reserve.measured(100 * MIB, 25 * MIB, 20 * MIB)
    assert not reserve.is_refusing


def test_a_lower_setting_takes_effect_with_the_next_measurement() -> None:
    reserve = SpaceReserve("/data")
    reserve.measured(100 * MIB, 10 * MIB, 20 * MIB)
    assert reserve.measured(100 * MIB, 10 * MIB, 4 * MIB)
    assert not reserve.is_refusing


def test_without_a_reserve_a_full_disk_refuses_nothing() -> None:
    reserve = SpaceReserve("/data")
    assert not reserve.measured(100 * MIB, 0, 0)
    assert not reserve.is_refusing
    assert not NO_RESERVE.is_refusing


def test_a_refusal_names_the_cause_and_what_helps() -> None:
    reserve = SpaceReserve("/data")
    reserve.measured(100 * MIB, 10 * MIB, 20 * MIB)
    error = reserve.refusal("orders-3")
    assert error.code is ErrorCode.KAFKA_STORAGE_ERROR
    for part in ("orders-3", "/data", "10 MiB", "20 MiB", "25 MiB", "log.dirs.min.free.bytes", "retention"):
        assert part in (error.message or "")
