"""`tidelog pipeline`: run pipelines on Spark, and see those that run on this machine."""

import time
from typing import Any

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.moments import span_text
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.session import Session, broker_options, json_option, parse_pair, pass_session
from tidelog.cli.spark.install import require_spark
from tidelog.cli.spark.metrics_port import metrics_options
from tidelog.cli.watch import show, watch_options
from tidelog.spark.pipeline.records import PipelineRecord, records, state_directory

STOP_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.1


@click.group()
def pipeline() -> None:
    """Run and watch pipelines on Spark."""


@pipeline.command()
@click.argument("file", metavar="FILE")
@click.option("--once", is_flag=True, help="Read what is there now, then end.")
@click.option(
    "--checkpoint", metavar="DIR", help="Where offsets and state are kept. [default: what FILE says]"
)
@click.option(
    "--master", metavar="URL", help="Run on this Spark cluster. [default: local[*], in this process]"
)
@click.option("--remote", metavar="URL", help="Run on this server of Spark Connect, such as sc://host:15002.")
@click.option(
    "-c",
    "--conf",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of Spark, such as spark.driver.memory=2g. Repeatable.",
)
@metrics_options
@broker_options
@pass_session
def run(
    session: Session,
    file: str,
    once: bool,
    checkpoint: str | None,
    master: str | None,
    remote: str | None,
    pairs: tuple[str, ...],
    metrics_port: int | None,
    metrics_host: str | None,
) -> int:
    """Run a pipeline until it is stopped; it resumes from its checkpoint.

    FILE is a YAML file, or a Python file with a function `pipeline` (FILE.py:NAME for another one).
    Ctrl-C, SIGTERM and `tidelog pipeline stop` end it after the current batch.

    \b
    tidelog pipeline run revenue.yaml
    tidelog pipeline run revenue.yaml --once                   # what is there now, then end
    tidelog pipeline run fraud.py:alerts --master spark://host:7077
    """
    require_spark("pipeline run")
    from tidelog.cli.spark.pipeline_run import PipelineRun

    if master is not None and remote is not None:
        raise CliError(
            "--master and --remote exclude each other: each names the Spark cluster to run on.",
            code=Exit.USAGE,
        )
    settings = dict(map(parse_pair, pairs))
    return PipelineRun(
        session,
        file,
        once=once,
        checkpoint=checkpoint,
        master=master,
        remote=remote,
        settings=settings,
        metrics=(metrics_port, metrics_host),
    ).run()


@pipeline.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--plan", is_flag=True, help="Let Spark check the SQL and the columns too, which takes seconds."
)
@broker_options
@pass_session
def validate(session: Session, file: str, plan: bool) -> None:
    """Check a pipeline without running it: every mistake with its line."""
    require_spark("pipeline validate")
    from tidelog.cli.spark.pipeline_run import checked, planned

    loaded = checked(file)
    queries = planned(session, loaded) if plan else None
    if session.json:
        print_json({"pipeline": loaded.name, "valid": True, "queries": queries})
        return
    print(f"{file} is valid: pipeline '{loaded.name}'.")
    if queries is not None:
        print(f"Spark has planned its queries: {', '.join(queries)}.")
    elif loaded.spec is not None:
        print("Spark checks its SQL with --plan.")


@pipeline.command("list")
@json_option
@pass_session
def list_command(session: Session) -> None:
    """List the pipelines that ran on this machine, and whether they run now."""
    found = [_facts(record) for record in records(state_directory())]
    if session.json:
        print_json(found)
    elif not found:
        print("No pipeline has run here yet. Try: tidelog pipeline run FILE")
    else:
        rows = [
            (
                facts["name"],
                facts["state"],
                _ago(facts.get("updated")) if facts["state"] != "running" else _ago(facts.get("started")),
                round(sum(query["rows_per_s"] for query in facts["queries"])),
                _lag(facts["queries"]),
                facts.get("file"),
            )
            for facts in found
        ]
        print_table(("Pipeline", "State", "Since", ">Rows/s", ">Lag", "File"), rows)


@pipeline.command()
@click.argument("name", metavar="NAME")
@watch_options
@json_option
@pass_session
def status(session: Session, name: str, watch: bool, interval: float) -> None:
    """Show the progress of a pipeline: rows per second, lag, batch time, state."""
    record = _known(name)
    show(session, lambda: _facts(record), lambda facts: facts, _show, watch=watch, interval_s=interval)


@pipeline.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0),
    default=STOP_TIMEOUT_S,
    metavar="SECONDS",
    help=f"How long to wait until it has ended. [default: {STOP_TIMEOUT_S:g}]",
)
@json_option
@pass_session
def stop(session: Session, name: str, timeout_s: float) -> None:
    """Stop a pipeline after the current batch, and wait until it has ended."""
    record = _known(name)
    began = time.monotonic()
    was_running = record.is_running
    if was_running:
        record.ask_to_stop()
    while record.is_running:
        if time.monotonic() - began > timeout_s:
            raise CliError(
                f"The pipeline '{name}' is still running after {timeout_s:g} s.",
                cause="the current batch takes long; the pipeline ends after it.",
                attempt=f"tidelog pipeline status {name}",
                code=Exit.TIMED_OUT,
            )
        time.sleep(LOOK_EVERY_S)
    if session.json:
        print_json({"pipeline": name, "stopped": was_running})
    else:
        took = time.monotonic() - began
        print(f"Stopped '{name}' in {took:.1f} s." if was_running else f"'{name}' is not running.")


def _known(name: str) -> PipelineRecord:
    found = {record.name: record for record in records(state_directory())}
    if name not in found:
        from tidelog.spark.pipeline.faults import nearest

        raise CliError(
            f"No pipeline '{name}' has run here{nearest(name, found)}.",
            attempt="tidelog pipeline list",
            code=Exit.NOT_FOUND,
        )
    return found[name]


def _facts(record: PipelineRecord) -> dict[str, Any]:
    status: dict[str, Any] = {"queries": [], **record.status(), "name": record.name}
    if record.is_running:
        status["state"] = "running" if status.get("state") in ("running", "starting") else "starting"
    elif status.get("state") in ("running", "starting", None):
        status["state"] = "killed"  # it had no time to say how it ended
    return status


def _show(facts: dict[str, Any]) -> None:
    from rich.markup import escape

    from tidelog.cli.spark.pipeline_view import progress_rows

    say(f"[bold]{escape(str(facts['name']))}[/]  {facts['state']}")
    error = facts.get("error")
    rows = [
        ("File", facts.get("file")),
        ("Process", facts.get("pid") if facts["state"] == "running" else None),
        ("Checkpoint", facts.get("checkpoint")),
        ("Started", _ago(facts.get("started"))),
        ("Spark's log", facts.get("log")),
        *([("Error", error)] if error else []),
    ]
    print_table((), [row for row in rows if row[1] is not None])
    queries = facts["queries"]
    if queries:
        print()
        print_table(*progress_rows(queries))


def _ago(moment_s: object) -> str | None:
    if not isinstance(moment_s, (int, float)):
        return None
    return f"{span_text(max(0, int((time.time() - moment_s) * 1000)))} ago"


def _lag(queries: list[dict[str, Any]]) -> int | None:
    known = [query["lag"] for query in queries if isinstance(query["lag"], int)]
    return sum(known) if known else None
