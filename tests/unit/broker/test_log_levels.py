"""Levels of loggers at run time, by the rules of Kafka's BROKER_LOGGER resource."""

import logging
from collections.abc import Iterator

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.log_levels import LEVELS, change_levels, logger_levels
from tidelog.metadata.configs.edits import ConfigEdit, ConfigOp

NAME = "tidelog.test_log_levels"
CHILD = f"{NAME}.child"


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    top = logging.getLogger("tidelog")
    before = top.level
    top.setLevel(logging.INFO)
    logging.getLogger(NAME), logging.getLogger(CHILD)
    yield
    top.setLevel(before)
    for name in (NAME, CHILD):
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_a_level_holds_for_the_loggers_below_and_is_taken_back() -> None:
    change_levels([ConfigEdit(NAME, "DEBUG")])
    found = logger_levels()
    assert (found["root"], found[NAME], found[CHILD]) == ("INFO", "DEBUG", "DEBUG")
    change_levels([ConfigEdit(CHILD, "error"), ConfigEdit(NAME, None, ConfigOp.DELETE)])
    found = logger_levels()
    assert (found[NAME], found[CHILD]) == ("INFO", "ERROR")


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_is_shown_under_its_name(level: str) -> None:
    change_levels([ConfigEdit(NAME, level)])
    assert logger_levels()[NAME] == level


def test_the_root_is_above_all_and_keeps_a_level() -> None:
    change_levels([ConfigEdit("root", "WARN")])
    assert logger_levels()[CHILD] == "WARN"
    assert next(iter(logger_levels())) == "root"
    with pytest.raises(KafkaError, match="Removing the log level of the root logger is not allowed"):
        change_levels([ConfigEdit("root", None, ConfigOp.DELETE)])


@pytest.mark.parametrize(
    ("edit", "code", "message"),
    [
        (ConfigEdit("no.such", "DEBUG"), ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
        (ConfigEdit(NAME, "LOUD"), ErrorCode.INVALID_CONFIG, "DEBUG, ERROR, FATAL, INFO, TRACE, WARN"),
        (ConfigEdit(NAME, "DEBUG", ConfigOp.APPEND), ErrorCode.INVALID_REQUEST, "APPEND operation is not"),
        (ConfigEdit(NAME, None), ErrorCode.INVALID_REQUEST, "Null value"),
    ],
)
def test_a_bad_edit_changes_nothing(edit: ConfigEdit, code: ErrorCode, message: str) -> None:
    with pytest.raises(KafkaError, match=message) as caught:
        change_levels([ConfigEdit(CHILD, "DEBUG"), edit])
    assert caught.value.code is code
    assert logger_levels()[CHILD] == "INFO"


def test_validating_changes_nothing() -> None:
    change_levels([ConfigEdit(CHILD, "DEBUG")], validate_only=True)
    assert logger_levels()[CHILD] == "INFO"
