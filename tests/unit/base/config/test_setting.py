import sys

import pytest

from tidelog.base.config.setting import Kind, Setting, Unit, in_milliseconds, parse, render

SIZE = Setting("size", Kind.INT, 1, "A size.", minimum=0, unit=Unit.BYTES)
AGE = Setting("age", Kind.LONG, 1, "An age.", minimum=-1, unit=Unit.MILLISECONDS)
HOURS = Setting("hours", Kind.INT, 1, "An age.", minimum=-1, unit=Unit.HOURS)
RATIO = Setting("ratio", Kind.DOUBLE, 0.5, "A ratio.", minimum=0, maximum=1)
RATE = Setting("rate", Kind.DOUBLE, 1.0, "A rate.", unit=Unit.BYTES_PER_SECOND)
FLAG = Setting("flag", Kind.BOOL, True, "A flag.")
POLICY = Setting("policy", Kind.LIST, (), "A policy.", choices=("compact", "delete"))
CODEC = Setting("codec", Kind.ENUM, "none", "A codec.", choices=("none", "zstd"))


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (SIZE, " 42 ", 42),
        (AGE, "-1", -1),
        (AGE, "9223372036854775807", 2**63 - 1),
        (FLAG, "TRUE", True),
        (FLAG, "false", False),
        (RATIO, "0.25", 0.25),
        (RATIO, "1", 1.0),
        (POLICY, "compact, delete", ("compact", "delete")),
        (POLICY, "", ()),
        (CODEC, "zstd", "zstd"),
    ],
)
def test_plain_forms(setting: Setting, text: str, value: object) -> None:
    parsed = parse(setting, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("setting", "raw", "value"),
    [
        (SIZE, "64 KiB", 65536),
        (SIZE, "1_000", 1000),
        (AGE, "7d", 604_800_000),
        (HOURS, "2d", 48),
        (RATE, "2 MiB/s", 2.0 * 1024**2),
        (FLAG, "off", False),
        (FLAG, True, True),
        (POLICY, ["delete"], ("delete",)),
        (SIZE, 7, 7),
    ],
)
def test_human_forms(setting: Setting, raw: object, value: object) -> None:
    assert parse(setting, raw, human=True) == value


@pytest.mark.parametrize(
    ("setting", "text"), [(SIZE, "64 KiB"), (SIZE, "1_000"), (AGE, "7d"), (FLAG, "off"), (FLAG, "1")]
)
def test_human_forms_are_refused_over_the_protocol(setting: Setting, text: str) -> None:
    with pytest.raises(ValueError):
        parse(setting, text)


@pytest.mark.parametrize(
    ("setting", "raw", "reason"),
    [
        (SIZE, "", "is not a whole number"),
        (SIZE, "1.0", "is not a whole number"),
        (SIZE, "٣", "is not a whole number"),
        (SIZE, "-1", "below 0"),
        (SIZE, str(2**31), "does not fit 32 bits"),
        (AGE, str(2**63), "does not fit 64 bits"),
        (RATIO, "1.5", "above 1"),
        (RATIO, "nan", "is not a number"),
        (RATIO, "1e999", "too large"),
        (POLICY, "compact,compact", "named twice"),
        (POLICY, "compact,,delete", "empty"),
        (POLICY, "shrink", "'shrink' is not one of compact, delete"),
        (POLICY, ["a,b"], "comma"),
        (POLICY, [["x"]], "list of strings"),
        (CODEC, "ZSTD", "not one of none, zstd"),
        (FLAG, "maybe", "neither true nor false"),
        (FLAG, None, "null"),
        (SIZE, ["1"], "expected one value"),
    ],
)
def test_refusals_say_why(setting: Setting, raw: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(setting, raw)


def test_a_duration_that_does_not_fit_the_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="whole number of hours"):
        parse(HOURS, "90m", human=True)


def test_a_rule_of_its_own_is_asked_last() -> None:
    even = SIZE._replace(check=lambda value: "is odd" if isinstance(value, int) and value % 2 else None)
    assert parse(even, "4") == 4
    with pytest.raises(ValueError, match="is odd"):
        parse(even, "5")


@pytest.mark.parametrize(
    ("setting", "value", "text"),
    [
        (FLAG, True, "true"),
        (SIZE, 10, "10"),
        (POLICY, ("compact", "delete"), "compact,delete"),
        (RATIO, 0.5, "0.5"),
        (RATIO, 1.0, "1.0"),
        (RATIO, 0.0, "0.0"),
        (RATE, 1e7, "1.0E7"),
        (RATE, 12345678.0, "1.2345678E7"),
        (RATE, 0.0001, "1.0E-4"),
        (RATE, sys.float_info.max, "1.7976931348623157E308"),
        (AGE, None, None),
    ],
)
def test_rendered_as_kafka_does(setting: Setting, value: object, text: str | None) -> None:
    assert render(setting, value) == text  # type: ignore[arg-type]


def test_durations_convert_to_milliseconds_and_keep_for_ever() -> None:
    assert in_milliseconds(HOURS, 2) == 7_200_000
    assert in_milliseconds(HOURS, -1) == -1
    assert in_milliseconds(AGE, 5) == 5
    assert in_milliseconds(FLAG, False) is False
