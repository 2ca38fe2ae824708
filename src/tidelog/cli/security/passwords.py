"""Where a password comes from: a prompt, a file or the environment. Never the command line: others see it."""

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tidelog.cli.exits import CliError, Exit

GENERATED_BYTES = 24
Command = TypeVar("Command", bound=Callable[..., Any])


def password_options(command: Command) -> Command:
    for option in (
        click.option(
            "--password-file",
            metavar="FILE",
            help="Read the password from the first line of this file; - reads stdin.",
        ),
        click.option("--password-env", metavar="NAME", help="Read the password from this variable."),
        click.option("--generate", is_flag=True, help="Generate a password, and print it once."),
    ):
        command = option(command)
    return command


def new_password() -> str:
    """Letters, digits, - and _, so that it needs no quotes anywhere."""
    return secrets.token_urlsafe(GENERATED_BYTES)


def read_password(user: str, file: str | None, variable: str | None, generate: bool) -> str:
    if sum((file is not None, variable is not None, generate)) > 1:
        raise CliError(
            "--password-file, --password-env and --generate exclude each other.",
            attempt="one of them, or none for a prompt",
            code=Exit.USAGE,
        )
    if generate:
        return new_password()
    if file is not None:
        return _not_empty(_first_line(file), f"{file} begins with an empty line")
    if variable is not None:
        return _not_empty(os.environ.get(variable, ""), f"the variable {variable} is not set")
    if not sys.stdin.isatty():
        raise CliError(
            "There is no terminal to ask for the password at.",
            attempt="--password-file FILE, --password-env NAME, or --generate",
            code=Exit.USAGE,
        )
    return str(click.prompt(f"Password of {user}", hide_input=True, confirmation_prompt=True, err=True))


def _first_line(file: str) -> str:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"Cannot read {file}: {error}.", code=Exit.NOT_FOUND) from error
    return text.partition("\n")[0].removesuffix("\r")


def _not_empty(password: str, otherwise: str) -> str:
    if not password:
        raise CliError(f"The password is empty: {otherwise}.", code=Exit.USAGE)
    return password
