"""A broker's settings from the flags of `tidelog up`, over the environment, over a file."""

import os
from collections.abc import Mapping

from tidelog.base.config.config import BrokerConfig, ConfigError, load
from tidelog.base.config.error import NO_SUCH_SETTING
from tidelog.cli.exits import CliError, Exit

DATA_DIR = "data"


def broker_config(
    file: str | None, data: str | None, port: int | None, values: Mapping[str, str]
) -> BrokerConfig:
    flags = dict(values)
    if data is not None:
        if "log.dirs" in flags:
            raise CliError(
                "--data and --set log.dirs both name the log dir.",
                attempt="only one of them; --set log.dirs=/disk1,/disk2 for several",
                code=Exit.USAGE,
            )
        flags["log.dirs"] = data
    config = given_config(file, flags)
    if port is not None:
        flags["listeners"] = _with_port(config, port)
    # Paths are made absolute here, so that what is shown and what is used cannot drift apart.
    directories = config.list("log.dirs") if config.is_given("log.dirs") else (DATA_DIR,)
    flags["log.dirs"] = ",".join(map(os.path.abspath, directories))
    return given_config(file, flags)


def given_config(file: str | None, flags: Mapping[str, str]) -> BrokerConfig:
    """As file, environment and flags have it, nothing added."""
    try:
        return load(file, os.environ, flags)
    except ConfigError as error:
        raise CliError(str(error), attempt=_next_command(error), code=Exit.USAGE) from error
    except OSError as error:
        raise CliError(f"Cannot read {file}: {error.strerror}.", code=Exit.NOT_FOUND) from error


def has_cores(config: BrokerConfig, data: str | None = None) -> bool:
    """Whether several processes are wanted, or an earlier start with more of them left log dirs behind."""
    if config.text("broker.cores") != "1":
        return True
    given = config.list("log.dirs") if config.is_given("log.dirs") else (DATA_DIR,)
    log_dirs = (data,) if data else given
    if not any(os.path.isdir(os.path.join(path, "cores")) for path in log_dirs):
        return False
    from tidelog.cli.log.core_dirs import known_cores

    return known_cores(log_dirs) > 1


def _with_port(config: BrokerConfig, port: int) -> str:
    listeners = config.listeners()
    if len(listeners) > 1:
        raise CliError(
            f"--port cannot choose between {len(listeners)} listeners.",
            attempt="--set listeners=PLAINTEXT://localhost:9092,…",
            code=Exit.USAGE,
        )
    return str(listeners[0]._replace(port=port))


def _next_command(error: ConfigError) -> str | None:
    from tidelog.cli.config.table import find_setting

    problem = error.problems[0]
    if find_setting("any", problem.name) is not None:
        return f"tidelog config explain {problem.name}"
    if problem.reason == NO_SUCH_SETTING:
        return "tidelog config show broker --all, which lists the settings of a running broker"
    return None
