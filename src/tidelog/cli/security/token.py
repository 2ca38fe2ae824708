"""`tidelog security token`: delegation tokens, which let a job log in as a user without the password."""

import base64
import binascii
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.group.target import DurationType
from tidelog.cli.output import print_json, print_table
from tidelog.cli.session import Session, broker_options, pass_session

hmac_options = (
    click.option("--hmac-file", metavar="FILE", help="Read the token's secret from this file; - is stdin."),
    click.option("--hmac-env", metavar="NAME", help="Read the token's secret from this variable."),
)


@click.group(cls=FullHelpGroup)
def token() -> None:
    """Create, renew, expire and list delegation tokens."""


@token.command()
@click.option("--owner", metavar="USER", help="For another user: User:alice. [default: the user who asks]")
@click.option(
    "--renewer", "renewers", multiple=True, metavar="USER", help="A user who may renew it. Repeatable."
)
@click.option(
    "--max-life",
    "max_life_ms",
    type=DurationType(),
    metavar="DURATION",
    help="The end of the token, whatever renewals say. [default: delegation.token.max.lifetime.ms]",
)
@broker_options
@pass_session
def create(session: Session, owner: str | None, renewers: tuple[str, ...], max_life_ms: int | None) -> None:
    """Create a token, and print its secret once.

    A client logs in with SCRAM: the token's id is the user, its secret the password, and the option
    tokenauth=true stands in its sasl.jaas.config.

    \b
    tidelog security token create --max-life 7d --renewer User:scheduler
    """
    from tidelog.wire.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest

    kind, name = _principal(owner) if owner else (None, None)
    request = CreateDelegationTokenRequest(
        owner_principal_type=kind,
        owner_principal_name=name,
        renewers=[
            CreatableRenewers(principal_type=kind, principal_name=name)
            for kind, name in map(_principal, renewers)
        ],
        max_lifetime_ms=-1 if max_life_ms is None else max_life_ms,
    )
    answer = DirectCluster(session).ask(request, at_least=3 if owner else 0)
    _check(answer, "The token cannot be created")
    secret = base64.b64encode(answer.hmac).decode()
    if session.json:
        print_json(_facts(answer) | {"hmac": secret})
        return
    print(f"Token   {answer.token_id}")
    print(f"Secret  {secret}")
    print(f"Owner   {answer.principal_type}:{answer.principal_name}")
    print(f"Expires {_moment(answer.expiry_timestamp)}, at the latest {_moment(answer.max_timestamp)}")


@token.command()
@hmac_options[0]
@hmac_options[1]
@click.option(
    "--for", "period_ms", type=DurationType(), metavar="DURATION", help="How long. [default: the broker's]"
)
@broker_options
@pass_session
def renew(session: Session, hmac_file: str | None, hmac_env: str | None, period_ms: int | None) -> None:
    """Renew a token before it expires."""
    from tidelog.wire.messages.renew_delegation_token import RenewDelegationTokenRequest

    request = RenewDelegationTokenRequest(
        hmac=_hmac(hmac_file, hmac_env), renew_period_ms=-1 if period_ms is None else period_ms
    )
    answer = DirectCluster(session).ask(request)
    _check(answer, "The token cannot be renewed")
    _tell_expiry(session, answer.expiry_timestamp)


@token.command()
@hmac_options[0]
@hmac_options[1]
@click.option(
    "--in", "period_ms", type=DurationType(), metavar="DURATION", help="When it ends. [default: now]"
)
@broker_options
@pass_session
def expire(session: Session, hmac_file: str | None, hmac_env: str | None, period_ms: int | None) -> None:
    """End a token, now or in a while."""
    from tidelog.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest

    request = ExpireDelegationTokenRequest(
        hmac=_hmac(hmac_file, hmac_env), expiry_time_period_ms=-1 if period_ms is None else period_ms
    )
    answer = DirectCluster(session).ask(request)
    _check(answer, "The token cannot be expired")
    _tell_expiry(session, answer.expiry_timestamp)


@token.command("list")
@click.option("--owner", "owners", multiple=True, metavar="USER", help="Only of this user. Repeatable.")
@broker_options
@pass_session
def list_command(session: Session, owners: tuple[str, ...]) -> None:
    """List the tokens that you may see, without their secrets."""
    from tidelog.wire.messages import describe_delegation_token as wire

    named = [
        wire.DescribeDelegationTokenOwner(principal_type=kind, principal_name=name)
        for kind, name in map(_principal, owners)
    ]
    answer = DirectCluster(session).ask(wire.DescribeDelegationTokenRequest(owners=named or None))
    _check(answer, "The tokens cannot be listed")
    if session.json:
        print_json(
            [
                _facts(found)
                | {
                    "renewers": [
                        f"{renewer.principal_type}:{renewer.principal_name}" for renewer in found.renewers
                    ]
                }
                for found in answer.tokens
            ]
        )
    elif not answer.tokens:
        print("There are no delegation tokens that you may see.")
    else:
        print_table(
            ("Token", "Owner", "Expires", "At the latest"),
            [
                (
                    found.token_id,
                    f"{found.principal_type}:{found.principal_name}",
                    _moment(found.expiry_timestamp),
                    _moment(found.max_timestamp),
                )
                for found in answer.tokens
            ],
        )


def _facts(found: Any) -> dict[str, Any]:
    return {
        "token_id": found.token_id,
        "owner": f"{found.principal_type}:{found.principal_name}",
        "issued": _moment(found.issue_timestamp),
        "expires": _moment(found.expiry_timestamp),
        "ends": _moment(found.max_timestamp),
    }


def _principal(text: str) -> tuple[str, str]:
    kind, colon, name = text.partition(":")
    if not colon or not kind or not name:
        raise CliError(f"'{text}' is not a principal.", attempt="User:alice", code=Exit.USAGE)
    return kind, name


def _hmac(file: str | None, variable: str | None) -> bytes:
    if (file is None) == (variable is None):
        raise CliError(
            "The token's secret is missing." if file is None else "Two secrets are given.",
            attempt="--hmac-file FILE or --hmac-env NAME",
            code=Exit.USAGE,
        )
    try:
        if variable is not None:
            text = os.environ.get(variable, "")
        else:
            text = sys.stdin.read() if file == "-" else Path(str(file)).read_text(encoding="utf-8")
        found = base64.b64decode(text.strip(), validate=True)
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"Cannot read {file}: {error}.", code=Exit.NOT_FOUND) from error
    except binascii.Error as error:
        raise CliError("The token's secret is not what `token create` printed.", code=Exit.USAGE) from error
    if not found:
        raise CliError("The token's secret is empty.", code=Exit.USAGE)
    return found


def _check(answer: Any, what: str) -> None:
    if answer.error_code:
        raise refusal(answer.error_code, None, what)


def _tell_expiry(session: Session, expiry_ms: int) -> None:
    if session.json:
        print_json({"expires": _moment(expiry_ms)})
    else:
        print(f"The token expires at {_moment(expiry_ms)}.")


def _moment(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
