"""The levels of this broker's loggers: shown and changed while it runs, by Kafka's rules for BROKER_LOGGER.

A level lasts until the process ends. A logger without one follows the next logger above it; `root` stands for
the logger above all others. Kafka's names of levels are used, which are not quite Python's.
"""

import logging
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.configs.edits import ConfigEdit, ConfigOp, check_edits

ROOT = "root"
ABOVE_ALL = "tidelog"
LEVELS = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}

log = logging.getLogger("tidelog.broker.log_levels")


def logger_levels() -> dict[str, str]:
    """The level in force of every logger, by name, `root` first."""
    known = logging.Logger.manager.loggerDict
    names = sorted(
        name
        for name, logger in known.items()
        if name.startswith(f"{ABOVE_ALL}.") and isinstance(logger, logging.Logger)
    )
    return {
        ROOT: _text(logging.getLogger(ABOVE_ALL).getEffectiveLevel()),
        **{name: _text(logging.getLogger(name).getEffectiveLevel()) for name in names},
    }


def change_levels(edits: Sequence[ConfigEdit], *, validate_only: bool = False) -> None:
    """All edits or none: KafkaError for the first that is not allowed."""
    check_edits(edits)
    names = logger_levels().keys()
    for edit in edits:
        _check(edit, edit.key in names)
    if validate_only:
        return
    for edit in edits:
        logger = logging.getLogger(ABOVE_ALL if edit.key == ROOT else edit.key)
        is_set = edit.op == ConfigOp.SET
        logger.setLevel(LEVELS[(edit.value or "").upper()] if is_set else logging.NOTSET)
        log.warning("the level of logger %s is %s now", edit.key, _text(logger.getEffectiveLevel()))


def _check(edit: ConfigEdit, exists: bool) -> None:
    if edit.op in (ConfigOp.APPEND, ConfigOp.SUBTRACT):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"{ConfigOp(edit.op).name} operation is not allowed for the BROKER_LOGGER resource",
        )
    if not exists:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Logger {edit.key} does not exist!")
    if edit.op == ConfigOp.DELETE and edit.key == ROOT:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Removing the log level of the {ROOT} logger is not allowed"
        )
    if edit.op == ConfigOp.SET and (edit.value or "").upper() not in LEVELS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {edit.key} to {edit.value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(LEVELS))}",
        )


def _text(level: int) -> str:
    """Kafka's name of the level; a level between two of them has the name of the lower one."""
    return next((name for name, known in reversed(LEVELS.items()) if level >= known), "TRACE")
