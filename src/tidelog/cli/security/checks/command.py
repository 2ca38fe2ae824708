"""`tidelog security check`: what is open in a running cluster."""

import ssl
from collections.abc import Iterator
from datetime import datetime

import click

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.findings import CheckFinding, Severity, brokers_text, merged, print_findings
from tidelog.cli.output import print_json
from tidelog.cli.security.checks.broker_facts import BrokerFacts
from tidelog.cli.security.checks.certificates import SOON_DAYS, check_certificates
from tidelog.cli.security.checks.cluster_facts import ClusterFacts, read_cluster, read_file_facts
from tidelog.cli.security.checks.handshake import Handshaker, TlsProbe
from tidelog.cli.security.checks.key_files import check_file, check_key_files
from tidelog.cli.security.checks.listeners import check_listeners
from tidelog.cli.security.checks.permissions import check_acls, check_authorizer, check_roles
from tidelog.cli.security.checks.users import check_users
from tidelog.cli.security.issuing import now
from tidelog.cli.session import Session, broker_options, pass_session

HANDSHAKE_TIMEOUT_S = 5.0


@click.command()
@click.option(
    "-c",
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, exists=True),
    help="Look at this settings file of a broker too, and at the files that it names.",
)
@click.option(
    "--within-days",
    type=click.IntRange(min=0),
    default=SOON_DAYS,
    metavar="N",
    help=f"Certificates that end within N days count as a finding. [default: {SOON_DAYS}]",
)
@broker_options
@pass_session
def check(session: Session, file: str | None, within_days: int) -> int:
    """Say what is open in a running cluster, why it matters, and what mends it.

    It reads the settings of every broker, the ACLs, roles and users, and makes a TLS handshake with each
    listener. Run it as a super user. The exit code is 1 if a finding is serious.

    \b
    tidelog security check
    tidelog security check --config /etc/tidelog/broker.yaml --json
    """
    cluster = DirectCluster(session)
    probe = tls_probe(session)
    facts = read_cluster(cluster)
    found = list(findings(facts, probe, now(), within_days))
    if file is not None:
        found += file_findings(file)
    shown = merged(found)
    serious = sum(finding.severity is Severity.SERIOUS for finding in shown)
    if session.json:
        print_json({"serious": serious, "findings": [finding.as_json() for finding in shown]})
    else:
        print_findings(shown, brokers_text(len(facts.brokers)), "Nothing is open that should not be")
    return Exit.FAILED if serious else Exit.OK


def findings(
    facts: ClusterFacts, shake: Handshaker, moment: datetime, within_days: int = SOON_DAYS
) -> Iterator[CheckFinding]:
    for broker in facts.brokers:
        yield from of_settings(broker)
        yield from check_certificates(broker, shake, moment, within_days)
    yield from check_acls(facts.acls)
    yield from check_roles(facts.roles)
    yield from check_users(facts.users)


def of_settings(broker: BrokerFacts) -> Iterator[CheckFinding]:
    yield from check_listeners(broker)
    yield from check_authorizer(broker)
    yield from check_key_files(broker)


def file_findings(file: str) -> list[CheckFinding]:
    broker = read_file_facts(file)
    has_secrets = any("password" in name or name.endswith("jaas.config") for name in broker.settings)
    own = list(check_file(file, "a settings file with passwords")) if has_secrets else []
    return [*of_settings(broker), *own]


def tls_probe(session: Session) -> TlsProbe:
    return TlsProbe(_context(session), min(session.timeout_s, HANDSHAKE_TIMEOUT_S))


def _context(session: Session) -> ssl.SSLContext:
    """As the session's own connections are made; without TLS of its own, with the machine's authorities."""
    from tidelog.blocking.errors import SecurityError
    from tidelog.blocking.security import Tls
    from tidelog.blocking.security_options import security_of

    try:
        tls = security_of({**session.properties, "security.protocol": "SSL"}).tls or Tls()
        return tls.context
    except SecurityError as error:
        raise CliError(f"{error}.", code=Exit.USAGE) from error
