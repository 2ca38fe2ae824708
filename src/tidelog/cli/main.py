"""The entry point: global options, lazily imported commands, and one place where errors become exit codes."""

import os
import signal
import sys
from functools import partial

import click

from tidelog import __version__
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.lazy_group import Entry, LazyGroup
from tidelog.cli.output import coloured
from tidelog.cli.session import SERVERS_VARIABLE, Session, context_option, json_option, servers_option

COMMANDS = {
    "up": Entry("tidelog.cli.up.commands", "up", "Run a broker, or a cluster of several, in the foreground."),
    "broker": Entry("tidelog.cli.up.broker", "broker", "Run one broker of a cluster in the foreground."),
    "topic": Entry("tidelog.cli.topic.commands", "topic", "Create, inspect, change and delete topics."),
    "produce": Entry("tidelog.cli.records.produce", "produce", "Write records to a topic."),
    "consume": Entry("tidelog.cli.records.consume", "consume", "Read records from a topic."),
    "group": Entry("tidelog.cli.group.commands", "group", "See, move and delete consumer groups."),
    "queue": Entry(
        "tidelog.cli.queue.commands",
        "queue",
        "See queues (share groups), move them, and put dead letters back.",
    ),
    "schema": Entry("tidelog.cli.schema.commands", "schema", "Register, compare, check and move schemas."),
    "txn": Entry("tidelog.cli.transactions.commands", "txn", "See transactions, and end those that hang."),
    "pipeline": Entry("tidelog.cli.spark.pipeline", "pipeline", "Run and watch pipelines on Spark."),
    "lake": Entry(
        "tidelog.cli.spark.lake", "lake", "Keep Delta, Iceberg or Parquet tables up to date with topics."
    ),
    "cluster": Entry("tidelog.cli.cluster.commands", "cluster", "See and change the brokers of a cluster."),
    "log-level": Entry(
        "tidelog.cli.log_level", "log_level", "Show or change the log levels of running brokers."
    ),
    "doctor": Entry(
        "tidelog.cli.doctor.command",
        "doctor",
        "Say what is wrong with a cluster, why it matters, and what to do.",
    ),
    "context": Entry(
        "tidelog.cli.context.commands",
        "context",
        "Name clusters and their client settings, and choose between them.",
    ),
    "config": Entry("tidelog.cli.config.commands", "config", "Show, change and explain settings."),
    "security": Entry(
        "tidelog.cli.security.commands",
        "security",
        "Manage certificates, users and tokens, and check what is open.",
    ),
    "quota": Entry(
        "tidelog.cli.quota.commands", "quota", "Limit what users, client ids and addresses may take."
    ),
    "client-metrics": Entry(
        "tidelog.cli.client_metrics.commands",
        "client_metrics",
        "Say which clients push which of their own metrics to the brokers.",
    ),
    "acl": Entry("tidelog.cli.acl.commands", "acl", "Say what principals may do, rule by rule."),
    "role": Entry(
        "tidelog.cli.role.commands", "role", "Name sets of permissions, and grant them to principals."
    ),
    "log": Entry(
        "tidelog.cli.log.commands", "log", "Look inside the files of partitions, check them, encrypt them."
    ),
    "plan": Entry(
        "tidelog.cli.plan.command",
        "plan_command",
        "Say how many machines, disks and partitions a load needs.",
    ),
    "monitoring": Entry(
        "tidelog.cli.monitoring.commands",
        "monitoring",
        "Write alert rules and dashboards to files, and read runbooks.",
    ),
    "service": Entry("tidelog.cli.service.commands", "service", "Run a broker as a service of systemd."),
    "completion": Entry("tidelog.cli.completion", "completion", "Print a shell completion script."),
}


class ClosedPipe(Exception):
    """The reader of our output went away. Not an OSError, which click would turn into exit code 1."""


class Root(LazyGroup):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ClosedPipe from error


root_servers_option = partial(servers_option, envvar=SERVERS_VARIABLE)


@click.group(
    cls=Root,
    entries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@root_servers_option
@context_option
@json_option
@click.version_option(__version__, prog_name="tidelog", message="%(prog)s %(version)s")
def cli() -> None:
    """Tidelog: a message queue that speaks the Kafka protocol.

    The commands talk to any Kafka-compatible broker, Tidelog or other.
    """


def main() -> None:
    """Run the command and leave with one of the documented exit codes."""
    session = Session()
    code = run(sys.argv[1:], session)
    if session.clients:
        # Everything is done and flushed, but to take a librdkafka client down can last a second.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str], session: Session | None = None) -> int:
    session = session or Session()
    try:
        result = cli.main(arguments, prog_name="tidelog", standalone_mode=False, obj=session)
        sys.stdout.flush()
        return result if isinstance(result, int) else Exit.OK
    except CliError as error:
        _show(error, session)
        return error.code
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _quiet_interrupt()
        return Exit.INTERRUPTED
    except (ClosedPipe, BrokenPipeError):
        _drop_stdout()
        return Exit.OK
    finally:
        session.close()


def _show(error: CliError, session: Session) -> None:
    if session.json:
        import json

        print(json.dumps(error.as_json(), ensure_ascii=False), file=sys.stderr)
        return
    first, *rest = error.lines()
    head, _, tail = first.partition(":")
    head = click.style(head + ":", fg="red", bold=True) if coloured(sys.stderr) else head + ":"
    click.echo(head + tail, err=True)
    for line in rest:
        click.echo(f"  {line}", err=True)


def _quiet_interrupt() -> None:
    # A second Ctrl-C while librdkafka's threads wind down would print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_stdout()


def _drop_stdout() -> None:
    """The reader went away: point stdout at nothing, so that Python's own flush at exit stays silent."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - lives until the process ends
    os.dup2(sys.stdout.fileno(), 1)


if __name__ == "__main__":
    main()
