"""`tidelog security init`: what a secured cluster needs before its first start."""

import os
from dataclasses import dataclass
from pathlib import Path

import click

from tidelog.base.ids import uuid_from_random, uuid_text
from tidelog.base.listener import Listener
from tidelog.broker.controller.bootstrap_file import FILE as BOOTSTRAP_FILE
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.security.cert import days_option, directory_option
from tidelog.cli.security.client_files import ClientAccess, write_client_files
from tidelog.cli.security.credentials import bootstrap_of
from tidelog.cli.security.files import SecurityFiles, broker_name, checked_name, write_private
from tidelog.cli.security.issuing import issue, new_authority
from tidelog.cli.security.passwords import new_password
from tidelog.cli.security.secured_settings import (
    BROKER_PORT_DISTANCE,
    BROKERS,
    CLIENTS,
    secured_settings,
    super_users_of,
)
from tidelog.cli.session import Session, json_option, pass_session

CLIENT_PORT = 9092
BROKER_PORT = CLIENT_PORT + BROKER_PORT_DISTANCE
ADMIN = "admin"
VOTERS_MAX = 5


@dataclass(frozen=True, slots=True)
class NewBroker:
    id: int
    hosts: tuple[str, ...]
    """The first is the one that is advertised; the certificate holds all."""


@click.command()
@click.option(
    "--broker",
    "brokers",
    multiple=True,
    required=True,
    metavar="ID=HOST,…",
    help="A broker's node.id and the hosts it is reached under, the advertised one first. Repeatable.",
)
@click.option("--user", default=ADMIN, metavar="NAME", help=f"The first user. [default: {ADMIN}]")
@click.option(
    "--install-dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the files will lie on the brokers' machines. [default: the directory itself]",
)
@days_option
@directory_option
@json_option
@pass_session
def init(
    session: Session,
    brokers: tuple[str, ...],
    user: str,
    install_dir: Path | None,
    days: float,
    directory: Path,
) -> None:
    """Make an authority, certificates, settings and the first user of a new cluster.

    Every broker gets a file with its key and certificate and a file with its settings; the first user's
    credential lies in a file that goes into the log dir of every voter before the first start. All files are
    readable by their owner alone. `tidelog up --secure` does all of it for a cluster on this machine.

    \b
    tidelog security init --broker 1=kafka-1.example.com --broker 2=kafka-2.example.com \\
        --broker 3=kafka-3.example.com --install-dir /etc/tidelog
    """
    members = [_parsed(text) for text in brokers]
    checked_name(user)
    if len({member.id for member in members}) < len(members):
        raise CliError("Two brokers have the same id.", code=Exit.USAGE)
    files = SecurityFiles(directory.absolute())
    _refuse_files_in_the_way(files, members, user)
    authority = new_authority(files)
    cluster_id = _new_cluster_id()
    for member in members:
        issue(files, authority, broker_name(member.id), member.hosts, days)
        text = _settings_text(files, member, members, user, cluster_id, install_dir or files.path)
        write_private(files.path / f"{broker_name(member.id)}.yaml", text.encode())
    issue(files, authority, user, days=days)
    write_private(files.token_key, new_password().encode())
    password = new_password()
    write_private(files.path / BOOTSTRAP_FILE, bootstrap_of(user, password, cluster_id).dump())
    servers = ",".join(f"{_bracketed(member.hosts[0])}:{CLIENT_PORT}" for member in members)
    write_client_files(files, ClientAccess(servers, user, password, str(files.ca)))
    _tell(session, files, members, user, cluster_id)


def _refuse_files_in_the_way(files: SecurityFiles, members: list[NewBroker], user: str) -> None:
    """The directory may hold another authority's ca.key: it cannot be made again."""
    names = [broker_name(member.id) for member in members]
    written = [
        files.ca_key,
        files.token_key,
        *(files.certificate(name) for name in (*names, user)),
        *(files.path / f"{name}.yaml" for name in names),
        files.path / BOOTSTRAP_FILE,
        files.client,
        files.java_client,
        files.spark_options,
    ]
    found = [path for path in written if path.exists()]
    if found and not files.exist:
        raise CliError(
            f"{found[0]} exists already.",
            cause="it belongs to something else, or to an init that was interrupted.",
            attempt="another directory with --directory; or move the file away",
            code=Exit.EXISTS,
        )


def _parsed(text: str) -> NewBroker:
    id, equals, hosts = text.partition("=")
    names = tuple(filter(None, (host.strip() for host in hosts.split(","))))
    if not equals or not id.strip().isdigit() or not names:
        raise CliError(f"'{text}' is not ID=HOST.", attempt="--broker 1=kafka-1.example.com", code=Exit.USAGE)
    return NewBroker(int(id), names)


def _settings_text(
    files: SecurityFiles,
    member: NewBroker,
    members: list[NewBroker],
    user: str,
    cluster_id: str,
    installed: Path,
) -> str:
    import yaml

    votes = min(len(members), VOTERS_MAX)
    voters = members[: votes if votes % 2 else votes - 1]  # an even number bears no greater loss
    settings = {
        "node.id": str(member.id),
        "cluster.id": cluster_id,
        "controller.quorum.voters": ",".join(
            f"{voter.id}@{_bracketed(voter.hosts[0])}:{BROKER_PORT}" for voter in voters
        ),
        **secured_settings(
            clients=Listener(CLIENTS, "0.0.0.0", CLIENT_PORT),
            brokers=Listener(BROKERS, "0.0.0.0", BROKER_PORT),
            advertised_clients=Listener(CLIENTS, member.hosts[0], CLIENT_PORT),
            advertised_brokers=Listener(BROKERS, member.hosts[0], BROKER_PORT),
            key_file=installed / files.certificate(broker_name(member.id)).name,
            ca_file=installed / files.ca.name,
            token_key_file=installed / files.token_key.name,
            super_users=super_users_of(user, [each.id for each in members]),
        ),
    }
    head = f"# Broker {member.id} of a secured cluster. Add log.dirs and what else this machine needs.\n"
    return head + yaml.safe_dump(settings, sort_keys=False, width=200)


def _tell(
    session: Session, files: SecurityFiles, members: list[NewBroker], user: str, cluster_id: str
) -> None:
    if session.json:
        print_json(
            {
                "directory": str(files.path),
                "cluster_id": cluster_id,
                "user": user,
                "client_properties": str(files.client),
            }
        )
        return
    name = broker_name(members[0].id)
    print(f"""The authority, certificates and first user of cluster {cluster_id} are in {files.path}.

On each broker's machine (here broker {members[0].id}):
  1. copy ca.pem, token.key, {name}.pem and {name}.yaml there, readable by the broker's user alone
  2. copy {BOOTSTRAP_FILE} into the first log dir, before the first start: it holds user '{user}'
  3. tidelog broker --config {name}.yaml --data DIR

Clients take {files.client.name} (librdkafka), {files.java_client.name} (Java) or {files.spark_options.name}
as they are; these hold the password of '{user}'. Keep ca.key away from the brokers: it can issue every
certificate.""")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _new_cluster_id() -> str:
    return uuid_text(uuid_from_random(os.urandom(16)))
