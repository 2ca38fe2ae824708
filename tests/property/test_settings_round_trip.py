"""Kafka's text form is read back as the same value, for every setting; junk only raises ValueError."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.base import units
from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.config import BrokerConfig, ConfigError, describe_topic, parse_topic_overrides
from tidelog.base.config.setting import INT_MAX, LONG_MAX, Kind, Setting, parse, render
from tidelog.base.topic_settings import TOPIC_SETTINGS

ALL = sorted([*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()], key=lambda setting: setting.name)
WORDS = st.text(st.characters(codec="ascii", exclude_characters=",", categories=["L", "N", "P"]), min_size=1)

LARGEST = {Kind.SHORT: 2**15 - 1, Kind.INT: INT_MAX, Kind.LONG: LONG_MAX}


def legal(setting: Setting) -> st.SearchStrategy[Any]:
    values: st.SearchStrategy[Any]
    if setting.kind is Kind.BOOL:
        values = st.booleans()
    elif setting.kind is Kind.ENUM:
        values = st.sampled_from(setting.choices)
    elif setting.kind is Kind.DOUBLE:
        values = st.floats(setting.minimum, setting.maximum, allow_nan=False, allow_infinity=False)
    elif setting.kind is Kind.LIST:
        items = st.sampled_from(setting.choices) if setting.choices else WORDS
        values = st.lists(items, unique=True, max_size=4).map(tuple)
    elif setting.kind in LARGEST:
        largest = LARGEST[setting.kind]
        least = setting.minimum if setting.minimum is not None else -largest
        values = st.integers(int(least), int(setting.maximum or largest))
    else:
        values = WORDS
    check = setting.check
    return values if check is None else values.filter(lambda value: check(value) is None)


SIMPLE = [setting for setting in ALL if setting.check is None or setting.kind is not Kind.LIST]


@given(st.sampled_from(SIMPLE).flatmap(lambda setting: st.tuples(st.just(setting), legal(setting))))
def test_rendered_values_are_read_back(pair: tuple[Setting, Any]) -> None:
    setting, value = pair
    text = render(setting, value)
    assert text is not None
    assert parse(setting, text) == value
    assert parse(setting, text, human=True) == value


JUNK = st.one_of(st.text(), st.none(), st.lists(st.text()), st.integers())


@given(st.sampled_from(ALL), JUNK, st.booleans())
def test_junk_is_a_value_error_or_a_legal_value(setting: Setting, raw: object, human: bool) -> None:
    try:
        value = parse(setting, raw, human=human)
    except ValueError:
        return
    text = render(setting, value)
    assert text is not None
    assert parse(setting, text) == value


@given(st.integers(1, 10**15))
def test_shown_units_are_read_back(count: int) -> None:
    assert units.parse_bytes(units.show_bytes(count)) == count
    assert units.parse_milliseconds(units.show_milliseconds(count)) == count


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(list(TOPIC_SETTINGS)), st.text(max_size=12), max_size=4))
def test_accepted_overrides_are_described_as_the_topics_own(texts: dict[str, str]) -> None:
    try:
        values = parse_topic_overrides(texts)
    except ConfigError:
        return
    entries = {entry.name: entry for entry in describe_topic(texts, BrokerConfig())}
    for name, value in values.items():
        assert entries[name].value == render(TOPIC_SETTINGS[name], value)
        assert entries[name].source == 1
