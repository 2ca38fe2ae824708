"""`tidelog doctor`: what is wrong with a running cluster, or with the log dirs of a stopped broker."""

from collections.abc import Iterator, Sequence

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.doctor.checks.brokers import check_brokers, check_open_files, check_versions
from tidelog.cli.doctor.checks.clocks import check_clocks
from tidelog.cli.doctor.checks.disks import check_disks
from tidelog.cli.doctor.checks.facts import DoctorFacts
from tidelog.cli.doctor.checks.groups import check_groups
from tidelog.cli.doctor.checks.partitions import check_leaders, check_partitions
from tidelog.cli.doctor.checks.queues import check_queues
from tidelog.cli.doctor.checks.quorum import check_quorum
from tidelog.cli.doctor.checks.registry import check_registry
from tidelog.cli.doctor.checks.settings import check_broker_settings, check_topic_settings
from tidelog.cli.doctor.checks.transactions import check_transactions
from tidelog.cli.doctor.looking import look_at_everything
from tidelog.cli.doctor.stopped import check_log_dir
from tidelog.cli.exits import CliError
from tidelog.cli.findings import CheckFinding, Severity, brokers_text, merged, print_findings, worst
from tidelog.cli.log.core_dirs import core_dirs
from tidelog.cli.output import note, print_json
from tidelog.cli.session import Session, broker_options, pass_session

OBSERVE_S = 5.0
CHECKS = (
    check_quorum,
    check_brokers,
    check_partitions,
    check_disks,
    check_open_files,
    check_clocks,
    check_versions,
    check_leaders,
    check_groups,
    check_queues,
    check_transactions,
    check_topic_settings,
    check_broker_settings,
    check_registry,
)
CERTIFICATE_CODES = (
    "no-handshake",
    "certificate-expired",
    "certificate-ends-soon",
    "certificate-not-trusted",
)
"""The other findings of these checks are for `tidelog security check`."""
EXIT_CODES = {None: 0, Severity.LOW: 0, Severity.MEDIUM: 1, Severity.SERIOUS: 2}


@click.command()
@click.option(
    "--data",
    "log_dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(),
    help="Look at this log dir of a stopped broker, and at those of its cores, instead of a running cluster. "
    "Repeatable.",
)
@click.option(
    "--observe",
    "observe_s",
    type=click.FloatRange(min=0),
    default=OBSERVE_S,
    metavar="SECONDS",
    help=f"How long a group must go on rebalancing to count as stuck. [default: {OBSERVE_S:g}]",
)
@broker_options
@pass_session
def doctor(session: Session, log_dirs: Sequence[str], observe_s: float) -> int:
    """Say what is wrong with a cluster, why it matters, and what to do.

    Looks at brokers, the quorum, partitions, disks, open files, clocks, versions, groups, transactions,
    certificates and settings; with --data, at the files of a stopped broker. The exit code is 0 if nothing
    but low findings came up, 1 if the worst finding is medium, 2 if one is serious.

    \b
    tidelog doctor
    tidelog doctor --data /var/lib/tidelog --json
    """
    skipped: Sequence[str] = ()
    if log_dirs:
        paths = [path for log_dir in log_dirs for path in core_dirs(log_dir)]
        found = [finding for path in paths for finding in check_log_dir(path)]
        looked_at = "1 log dir" if len(paths) == 1 else f"{len(paths)} log dirs"
    else:
        facts = look_at_everything(session, observe_s)
        found = [*findings(facts), *certificate_findings(session)]
        skipped = facts.skipped
        looked_at = brokers_text(len(facts.report.view.brokers))
    shown = merged(found)
    if session.json:
        print_json({"findings": [finding.as_json() for finding in shown], "skipped": list(skipped)})
    else:
        print_findings(shown, looked_at, "Nothing is wrong")
        for remark in skipped:
            note(remark)
    return EXIT_CODES[worst(shown)]


def findings(facts: DoctorFacts) -> Iterator[CheckFinding]:
    for check in CHECKS:
        yield from check(facts)


def certificate_findings(session: Session) -> list[CheckFinding]:
    """Of listeners with TLS; a user who may not read the settings of brokers is spared them."""
    from tidelog.cli.security.checks.certificates import check_certificates
    from tidelog.cli.security.checks.cluster_facts import read_brokers
    from tidelog.cli.security.checks.command import tls_probe
    from tidelog.cli.security.issuing import now

    try:
        brokers = read_brokers(DirectCluster(session))
    except CliError:
        return []
    if not any(listener.protocol.is_tls for broker in brokers for listener in broker.listeners()):
        return []
    probe, moment = tls_probe(session), now()
    found = [finding for broker in brokers for finding in check_certificates(broker, probe, moment)]
    return [finding for finding in found if finding.code in CERTIFICATE_CODES]
