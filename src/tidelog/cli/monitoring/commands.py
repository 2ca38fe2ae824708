"""`tidelog monitoring`: alert rules, dashboards and runbooks, as files and on the screen."""

from difflib import get_close_matches
from pathlib import Path

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json
from tidelog.cli.session import Session, json_option, pass_session


@click.group(cls=FullHelpGroup)
def monitoring() -> None:
    """Write alert rules and dashboards to files, and read runbooks."""


@monitoring.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--runbooks",
    metavar="URL",
    help="Where people read the runbooks, for the links in alerts. [default: the files beside the rules]",
)
@json_option
@pass_session
def export(session: Session, directory: Path, runbooks: str | None) -> None:
    """Write the alert rules, dashboards and runbooks of this version into a directory.

    Files that are there from an earlier version are replaced.

    \b
    tidelog monitoring export ./monitoring
    tidelog monitoring export ./monitoring --runbooks https://wiki.example.com/tidelog
    """
    from tidelog.monitoring.files import exported_files

    written = []
    for name, text in exported_files(runbooks).items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CliError(f"{path} cannot be written: {error.strerror}.") from error
        written.append(path)
    if session.json:
        print_json({"files": [str(path) for path in written]})
        return
    print(f"Wrote {len(written)} files into {directory}:")
    print(f"  {directory}/prometheus  rules for Prometheus: name them under rule_files")
    print(f"  {directory}/grafana     dashboards for Grafana: import them, or provision the directory")
    print(f"  {directory}/runbooks    what to do about each alert")


@monitoring.command()
@click.argument("alert", required=False)
@json_option
@pass_session
def runbook(session: Session, alert: str | None) -> None:
    """Show what to do about an alert; without a name, list the alerts.

    \b
    tidelog monitoring runbook TidelogBrokerDown
    """
    from tidelog.monitoring.runbooks import runbooks

    pages = runbooks()
    if alert is None:
        print_json({"alerts": list(pages)}) if session.json else print("\n".join(pages))
        return
    if alert not in pages:
        near = get_close_matches(alert, pages, n=1, cutoff=0.3)
        attempt = f"tidelog monitoring runbook {near[0] if near else ''}".rstrip()
        raise CliError(f"There is no alert {alert}.", attempt=attempt, code=Exit.NOT_FOUND)
    text = pages[alert].read_text(encoding="utf-8")
    print_json({"alert": alert, "runbook": text}) if session.json else print(text, end="")
