"""The security of a cluster that `tidelog up` runs on this machine: made by `--secure` once, then kept.

Everything lies in `security/` of the data directory. A directory that is there stays in force: the brokers
come back secured, with or without the flag.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.listener import Listener
from tidelog.broker.controller.bootstrap_file import FILE as BOOTSTRAP_FILE
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.security.certificate import certificate_in
from tidelog.cli.security.client_files import ClientAccess, read_properties, write_client_files
from tidelog.cli.security.credentials import allow_users, bootstrap_of, list_users, set_password
from tidelog.cli.security.files import DIRECTORY, SecurityFiles, broker_name, write_private
from tidelog.cli.security.issuing import issue, new_authority, now, open_authority
from tidelog.cli.security.local_context import save_context
from tidelog.cli.security.passwords import new_password
from tidelog.cli.security.secured_settings import (
    BROKER_PORT_DISTANCE,
    BROKERS,
    CHOSEN,
    secured_settings,
    super_users_of,
)
from tidelog.cli.security.secured_state import STATE, free_port, read_state, write_state
from tidelog.cli.session import Session

ADMIN = "admin"
RENEW_DAYS = 30
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class LocalBroker:
    id: int
    log_dir: str
    advertised_host: str
    votes: bool = True


class LocalSecurity:
    def __init__(self, data: str) -> None:
        self.files = SecurityFiles(Path(data).absolute() / DIRECTORY)
        self.state = read_state(self.files.path / STATE)
        self.context: str | None = None
        """Of the command line, once it is saved."""

    def choose_ports(
        self,
        client_ports: Sequence[int],
        in_a_row: int = 1,
        step: int = 1,
        others: Collection[int] = (),
    ) -> list[int]:
        """The brokers' own ports: those of earlier starts, then 10,000 above the clients', where free
        for good.

        A broker that is alone is looked for by no other, so its port changes if another program took it.
        With several cores a port is the first of so many `in_a_row`, `step` apart; `others` are those that
        the brokers use for something else.
        """
        known = list(self.state.broker_ports[: len(client_ports)])
        if len(client_ports) == len(known) == in_a_row == 1:
            known = [free_port(known[0], ())]
        for port in client_ports[len(known) :]:
            wanted = port + BROKER_PORT_DISTANCE if port else 0
            own = {other for first in known for other in range(first, first + in_a_row * step, step)}
            known.append(free_port(wanted, own.union(others), in_a_row, step))
        self.state = replace(self.state, broker_ports=tuple(known))
        return known

    def prepare(self, brokers: Sequence[LocalBroker], cluster_id: str = "") -> None:
        """Makes what is missing: the authority, certificates, and the first user of a new cluster."""
        files = self.files
        self._issue_missing(brokers)
        if not files.token_key.exists():
            write_private(files.token_key, new_password().encode())
        password = self._password() or new_password()
        if not files.client.exists():  # with addresses that the first start corrects
            write_client_files(files, self._access("localhost:9092", password))
        if not self.state.admin_exists and not any(map(_has_data, brokers)):
            users = bootstrap_of(ADMIN, password, cluster_id).dump()
            for broker in brokers:
                if broker.votes:
                    os.makedirs(broker.log_dir, exist_ok=True)
                    write_private(Path(broker.log_dir) / BOOTSTRAP_FILE, users)
        self._write_state()

    def _issue_missing(self, brokers: Sequence[LocalBroker]) -> None:
        """The authority's key is needed only where a certificate is; it may lie elsewhere otherwise."""
        wanted = {broker_name(each.id): (each.advertised_host, *LOCAL_HOSTS) for each in brokers}
        is_new = not self.files.exist  # certificates of a lost authority are of no use
        missing = {
            name: hosts for name, hosts in {**wanted, ADMIN: ()}.items() if is_new or self._needs(name, hosts)
        }
        if missing:
            authority = new_authority(self.files) if is_new else open_authority(self.files)
            for name, hosts in missing.items():
                issue(self.files, authority, name, hosts)

    def settings_of(
        self, id: int, clients: Listener, advertised: Listener, broker_port: int, ids: Iterable[int]
    ) -> dict[str, str]:
        between = Listener(BROKERS, "localhost", broker_port)
        audit = {"audit.file": str(self.files.path / f"audit-{id}.log")}
        return audit | secured_settings(
            clients=clients,
            brokers=between,
            advertised_clients=advertised,
            advertised_brokers=between,
            key_file=self.files.certificate(broker_name(id)),
            ca_file=self.files.ca,
            token_key_file=self.files.token_key,
            super_users=super_users_of(ADMIN, ids),
        )

    def admin_properties(self) -> dict[str, str]:
        """For the listener of the brokers: the certificate of the first user, which needs no password."""
        key = str(self.files.certificate(ADMIN))
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.files.ca),
            "ssl.certificate.location": key,
            "ssl.key.location": key,
        }

    def write_client_files(self, servers: str) -> None:
        """With the addresses that clients really find, and the place of the authority's certificate; files
        that have them already stay as they are."""
        found = read_properties(self.files.client.read_text())
        if (found.get("bootstrap.servers"), found.get("ssl.ca.location")) != (servers, str(self.files.ca)):
            write_client_files(self.files, self._access(servers, self._password() or ""))
        self.context = save_context(self.files, servers)

    def facts(self) -> dict[str, str]:
        """What a person or a script needs to connect; no secret is in it."""
        saved = {} if self.context is None else {"context": self.context}
        return {"security": str(self.files.path), "user": ADMIN, **saved}

    def confirm_admin(self, servers: str, broker_servers: str, timeout_s: float) -> None:
        """Logs in with the client file, once. In a cluster that was plain before, or whose directory of keys
        was lost, the admin's certificate sets the password first."""
        if self.state.admin_exists:
            return
        properties = read_properties(self.files.client.read_text())
        properties.pop("bootstrap.servers")
        try:
            _list_users(servers, properties, timeout_s)
        except CliError as error:
            if error.code is not Exit.DENIED:
                raise
            session = Session(servers=broker_servers, timeout_s=timeout_s, properties=self.admin_properties())
            with closing(session):
                allow_users(DirectCluster(session))
                set_password(DirectCluster(session), ADMIN, properties["sasl.password"])
        self.state = replace(self.state, admin_exists=True)
        self._write_state()

    def _needs(self, name: str, hosts: Sequence[str] = ()) -> bool:
        path = self.files.certificate(name)
        if not path.exists():
            return True
        facts = certificate_in(path)
        return facts.days_left(now()) < RENEW_DAYS or not set(hosts) <= set(facts.hosts)

    def _password(self) -> str | None:
        if not self.files.client.exists():
            return None
        return read_properties(self.files.client.read_text()).get("sasl.password")

    def _access(self, servers: str, password: str) -> ClientAccess:
        return ClientAccess(servers, ADMIN, password, str(self.files.ca))

    def _write_state(self) -> None:
        write_state(self.files.path / STATE, self.state)


def _list_users(servers: str, properties: dict[str, str], timeout_s: float) -> None:
    with closing(Session(servers=servers, timeout_s=timeout_s, properties=properties)) as session:
        list_users(DirectCluster(session), [ADMIN])


def refuse_own_settings(config: BrokerConfig) -> None:
    """`--secure` decides these; a person who sets them wants another way."""
    if len(config.listeners()) > 1:
        raise CliError(
            f"--secure cannot choose between {len(config.listeners())} listeners.",
            attempt="one listener; --secure adds that of the brokers",
            code=Exit.USAGE,
        )
    given = [name for name in CHOSEN if config.is_given(name)]
    if given:
        raise CliError(
            f"{given[0]} cannot be set beside --secure.",
            cause="a directory that `tidelog up --secure` secured has its listeners, keys and super users.",
            attempt="leave it out; or tidelog security init, and each broker with settings of its own",
            code=Exit.USAGE,
        )


def _has_data(broker: LocalBroker) -> bool:
    return os.path.exists(os.path.join(broker.log_dir, "meta.properties"))
