"""`tidelog security cert`: certificates of brokers and clients, from the cluster's own authority."""

from pathlib import Path

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table
from tidelog.cli.security.certificate import CertificateFacts, certificate_in
from tidelog.cli.security.files import DIRECTORY, SecurityFiles, broker_name, checked_name
from tidelog.cli.security.issuing import issue, now, open_authority
from tidelog.cli.session import Session, json_option, pass_session
from tidelog.security.tls.authority import CERTIFICATE_DAYS

RENEW_DAYS = 30

directory_option = click.option(
    "--directory",
    metavar="DIR",
    default=DIRECTORY,
    type=click.Path(file_okay=False, path_type=Path),
    help=f"The directory of `tidelog security init`. [default: ./{DIRECTORY}]",
)
days_option = click.option(
    "--days",
    type=click.FloatRange(min=0.001, max=3650),
    default=CERTIFICATE_DAYS,
    metavar="N",
    help=f"How long the certificate is valid. [default: {CERTIFICATE_DAYS}]",
)


@click.group(cls=FullHelpGroup)
def cert() -> None:
    """Issue, renew and show certificates."""


@cert.command("issue")
@click.option("--broker", type=click.IntRange(min=0), metavar="ID", help="For the broker with this node.id.")
@click.option("--client", metavar="NAME", help="For a client, which then is User:NAME on SSL listeners.")
@click.option(
    "--host", "hosts", multiple=True, metavar="HOST", help="A name or address of the broker. Repeatable."
)
@days_option
@directory_option
@json_option
@pass_session
def issue_command(
    session: Session,
    broker: int | None,
    client: str | None,
    hosts: tuple[str, ...],
    days: float,
    directory: Path,
) -> None:
    """Issue a certificate to a broker or a client.

    The file holds the key and the certificate, as ssl.keystore.location takes them. Clients verify the host
    that they connect to, so name every host and address under which a broker is reached.

    \b
    tidelog security cert issue --broker 4 --host kafka-4.example.com --host 10.0.0.4
    tidelog security cert issue --client reports
    """
    if (broker is None) == (client is None):
        raise CliError(
            "A certificate is for a broker or for a client.",
            attempt="--broker ID --host HOST, or --client NAME",
            code=Exit.USAGE,
        )
    if broker is not None and not hosts:
        raise CliError(
            "A broker's certificate names its hosts.",
            cause="clients refuse a certificate without the host that they connect to.",
            attempt=f"--broker {broker} --host HOST",
            code=Exit.USAGE,
        )
    name = broker_name(broker) if broker is not None else checked_name(str(client))
    files = SecurityFiles(directory)
    path = issue(files, open_authority(files), name, hosts, days)
    _show(session, [(path, certificate_in(path))])


@cert.command()
@click.argument("names", nargs=-1)
@click.option(
    "--within-days",
    type=click.IntRange(min=0),
    default=RENEW_DAYS,
    metavar="N",
    help=f"Without names: the certificates that end within N days. [default: {RENEW_DAYS}]",
)
@days_option
@directory_option
@json_option
@pass_session
def renew(session: Session, names: tuple[str, ...], within_days: int, days: float, directory: Path) -> None:
    """Issue certificates again, with new keys and the same names and hosts.

    Brokers read a changed file by themselves; they need no restart.

    \b
    tidelog security cert renew               # those that end within 30 days
    tidelog security cert renew broker-1
    """
    files = SecurityFiles(directory)
    authority = open_authority(files)
    renewed = []
    for path in [files.certificate(name) for name in names] or files.certificates():
        facts = certificate_in(path)
        if names or facts.days_left(now()) <= within_days:
            issue(files, authority, path.stem, facts.hosts, days)
            renewed.append((path, certificate_in(path)))
    if not renewed and not session.json:
        print(f"No certificate in {directory} ends within {within_days} days.")
        return
    _show(session, renewed)


@cert.command()
@click.argument("files", nargs=-1, type=click.Path(dir_okay=False, path_type=Path))
@directory_option
@json_option
@pass_session
def show(session: Session, files: tuple[Path, ...], directory: Path) -> None:
    """Show names, hosts and validity of certificates: of these files, or of the whole directory.

    \b
    tidelog security cert show
    tidelog security cert show /etc/tidelog/broker-1.pem
    """
    own = SecurityFiles(directory)
    paths = list(files) or [*([own.ca] if own.exist else []), *own.certificates()]
    if not paths:
        raise CliError(
            f"{directory} holds no certificates.",
            attempt="tidelog security init; or --directory DIR",
            code=Exit.NOT_FOUND,
        )
    _show(session, [(path, certificate_in(path)) for path in paths])


def _show(session: Session, found: list[tuple[Path, CertificateFacts]]) -> None:
    moment = now()
    if session.json:
        print_json([{"file": str(path), **facts.as_json(moment)} for path, facts in found])
        return
    print_table(
        ("File", "Name", "Hosts", "Valid until", ">Days left"),
        [
            (
                str(path),
                facts.name,
                facts.hosts or None,
                facts.ends.date().isoformat(),
                facts.days_left(moment),
            )
            for path, facts in found
        ],
    )
