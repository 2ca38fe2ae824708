"""The words of `tidelog log-level`, and how levels of several brokers are shown."""

import click
import pytest

from tidelog.cli.log_level import Wanted, chosen_of, parse_words, show_levels


def test_numbers_are_brokers_and_equal_signs_make_changes() -> None:
    words = ["2", "3", "tidelog.broker.isr=debug", "root=default", "tidelog.server"]
    assert parse_words(words) == Wanted(
        [2, 3], {"tidelog.broker.isr": "DEBUG", "root": None}, ["tidelog.server"]
    )
    assert parse_words([]) == Wanted([], {}, [])
    with pytest.raises(click.UsageError):
        parse_words(["tidelog.broker="])


def test_a_logger_is_shown_with_those_below_it() -> None:
    levels = {
        "root": "INFO",
        "tidelog.broker": "INFO",
        "tidelog.broker.isr": "DEBUG",
        "tidelog.brokers": "INFO",
    }
    assert list(chosen_of(levels, ["tidelog.broker"])) == ["tidelog.broker", "tidelog.broker.isr"]
    assert chosen_of(levels, []) == levels


def test_brokers_that_agree_share_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    show_levels({1: {"root": "INFO"}, 2: {"root": "INFO"}})
    assert capsys.readouterr().out.split() == ["Logger", "Level", "root", "INFO"]
    show_levels({1: {"root": "INFO"}, 2: {"root": "DEBUG", "extra": "INFO"}})
    assert "Broker 2" in (shown := capsys.readouterr().out)
    assert shown.splitlines()[2].split() == ["extra", "-", "INFO"]
