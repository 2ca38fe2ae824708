"""The options that every command that runs a broker takes."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_DATA = "data"


def _complete_setting(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from tidelog.cli.config.table import known_settings

    return [f"{name}=" for name in known_settings("broker") if name.startswith(incomplete)]


data_option = click.option(
    "-d",
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help=f"The directory for all of its data. [default: ./{DEFAULT_DATA}]",
)
config_option = click.option(
    "-c",
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    envvar="TIDELOG_CONFIG",
    help="Settings as YAML. [env: TIDELOG_CONFIG]",
)
set_option = click.option(
    "-s",
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=_complete_setting,
    help="A broker setting. Repeatable.",
)
cores_option = click.option(
    "--cores",
    metavar="auto|N",
    help="Serve with N cores of the machine, a process for each. [default: broker.cores, 1]",
)
ready_file_option = click.option(
    "--ready-file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="A file to write the address to, as JSON, once the broker answers; removed when it stops.",
)


def with_cores(pairs: dict[str, str], cores: str | None) -> dict[str, str]:
    """The settings of flags with that of `--cores` among them."""
    return pairs if cores is None else {**pairs, "broker.cores": cores}
