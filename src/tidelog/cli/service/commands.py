"""`tidelog service install|uninstall|status`."""

import json
import os
from typing import TYPE_CHECKING

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.service.unit import CONFIG_PATH, NAME, STATE_DIR, UNIT_PATH, Service
from tidelog.cli.session import Session, json_option, pass_session

if TYPE_CHECKING:
    from tidelog.cli.service.plan import Step

dry_run_option = click.option("--dry-run", is_flag=True, help="Show the steps and the unit; change nothing.")
root_option = click.option(
    "--root",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Change the system below DIR, such as an image of a machine, in place of this one.",
)


@click.group(cls=FullHelpGroup)
def service() -> None:
    """Run a broker as a service of systemd."""


@service.command()
@click.option(
    "-c",
    "--config",
    "config",
    metavar="FILE",
    default=CONFIG_PATH,
    help=f"Its settings; a first version is written where there is none. [default: {CONFIG_PATH}]",
)
@click.option("--user", metavar="NAME", default=NAME, help=f"The user it runs as. [default: {NAME}]")
@click.option("--alone", is_flag=True, help="A single broker, not a member of a cluster.")
@click.option("--command", metavar="PATH", help="The tidelog to start. [default: this one]")
@click.option("--no-enable", is_flag=True, help="Do not start it with the machine.")
@root_option
@dry_run_option
@json_option
@pass_session
def install(
    session: Session,
    config: str,
    user: str,
    alone: bool,
    command: str | None,
    no_enable: bool,
    root: str | None,
    dry_run: bool,
) -> None:
    """Install a broker as a service, which starts with the machine.

    Makes the user, the settings file and the unit; systemd itself makes the log dir. Log dirs that the
    settings name elsewhere must exist and belong to the user. Run it again after log.dirs has changed.

    \b
    sudo tidelog service install && sudo systemctl start tidelog
    tidelog service install --dry-run              # shows the unit
    sudo tidelog service install --alone           # a single broker
    """
    from tidelog.cli.service import machine
    from tidelog.cli.service.plan import plan_install

    path = os.path.abspath(command) if command else machine.own_command()
    config = os.path.abspath(config)
    settings = os.path.join(root, config.lstrip("/")) if root else config
    wanted = _with_directories(Service(path, config, user, alone), settings)
    steps = plan_install(wanted, root, enable=not no_enable)
    if not dry_run:
        machine.check_systemd(root)
        machine.check_may_install()
        machine.check_reachable(path)
        machine.carry_out(steps, root)
    _report(session, steps, dry_run, f"Installed. Start it: systemctl start {NAME}")


@service.command()
@root_option
@dry_run_option
@json_option
@pass_session
def uninstall(session: Session, root: str | None, dry_run: bool) -> None:
    """Stop the service and remove it; its data, its settings and its user stay."""
    from tidelog.cli.service import machine
    from tidelog.cli.service.plan import plan_uninstall

    steps = plan_uninstall(root)
    if not dry_run:
        machine.check_systemd(root)
        machine.check_may_install()
        machine.carry_out(steps, root)
    _report(session, steps, dry_run, f"Removed. Data and settings are still in {STATE_DIR} and /etc/tidelog.")


@service.command()
@json_option
@pass_session
def status(session: Session) -> int:
    """Show whether the service is installed and runs; exit code 1 unless it does."""
    from tidelog.cli.service import machine

    machine.check_systemd(None)
    facts = machine.properties()
    if facts.get("LoadState") == "not-found":
        raise CliError(
            f"There is no {UNIT_PATH}.", attempt="sudo tidelog service install", code=Exit.NOT_FOUND
        )
    if session.json:
        print(json.dumps(facts))
    else:
        click.echo(
            f"{NAME}: {facts.get('ActiveState')} ({facts.get('SubState')}), process {facts.get('MainPID')}"
        )
        click.echo(facts.get("StatusText") or "It says nothing of itself.")
    return Exit.OK if facts.get("ActiveState") == "active" else Exit.FAILED


def _with_directories(service: Service, config: str) -> Service:
    """With those outside of the service's own that its settings have it write to."""
    if not os.path.exists(config):
        return service
    from tidelog.cli.up.settings import given_config

    settings = given_config(config, {})
    log_dirs = [os.path.join(STATE_DIR, path) for path in settings.list("log.dirs")]
    audit = settings.optional_text("audit.file")
    paths = [*log_dirs, os.path.dirname(os.path.join(STATE_DIR, audit))] if audit else log_dirs
    return service._replace(
        writable=tuple(path for path in paths if not _is_below_state_dir(path)),
        first_log_dir=STATE_DIR if _is_below_state_dir(log_dirs[0]) else log_dirs[0],
    )


def _is_below_state_dir(path: str) -> bool:
    return f"{path}/".startswith(f"{STATE_DIR}/")


def _report(session: Session, steps: "list[Step]", dry_run: bool, message: str) -> None:
    from tidelog.cli.service.plan import WriteFile

    texts = {step.path: step.text for step in steps if isinstance(step, WriteFile)}
    if session.json:
        print(json.dumps({"dry_run": dry_run, "steps": [str(step) for step in steps], "files": texts}))
        return
    if not dry_run:
        click.echo(message)
        return
    for step in steps:
        click.echo(str(step))
    click.echo(f"\n--- {UNIT_PATH}\n{texts[UNIT_PATH]}" if UNIT_PATH in texts else "")
