"""A secured broker in a test: its protocol, its users, what each may do, and how their clients connect."""

import secrets
import ssl
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tidelog.blocking.settings import ClusterSettings

ADMIN = "admin"
BROKER = "broker"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PROTOCOLS = ("ssl", "sasl_plaintext", "sasl_ssl")
LIBRARIES = ("librdkafka", "aiokafka", "kafka-python", "java", "spark")
HOSTS = ("127.0.0.1", "localhost")

AclRow: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True)
class Security:
    """How a broker or cluster in a test is secured.

    Every user has a password and a certificate. There is always a user `admin`, who may do everything.

    Example:
        import tidelog.testing
        from tidelog import Producer
        from tidelog.testing import Security

        security = Security("sasl_ssl", users=["ann"])
        with tidelog.testing.Broker(security=security) as broker:
            with Producer(broker.client_config("ann")) as producer:
                print(producer.send("orders", "42").result())

    Attributes:
        protocol: `ssl` with client certificates, `sasl_plaintext` or `sasl_ssl`.
        mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
        users: Names, or names with their passwords; without one, a password is made up.
        acls: What users may do, as (user, operation, resource, name), with Kafka's words and `*` at the end
            of a name for a prefix. None: no authorizer, so every user may do everything.
    """

    protocol: str = "sasl_ssl"
    mechanism: str = "SCRAM-SHA-512"
    users: Mapping[str, str] | Iterable[str] = ()
    acls: Sequence[AclRow] | None = None

    def __post_init__(self) -> None:
        _check("security", self.protocol, PROTOCOLS)
        _check("mechanism", self.mechanism, MECHANISMS)
        given = dict(self.users) if isinstance(self.users, Mapping) else dict.fromkeys(self.users, "")
        passwords = {name: given.get(name) or secrets.token_urlsafe(12) for name in (ADMIN, *given)}
        object.__setattr__(self, "users", passwords)

    @property
    def passwords(self) -> dict[str, str]:
        """Of every user, the administrator's too."""
        return dict(self.users)  # type: ignore[arg-type]  # a mapping since __post_init__


@dataclass
class SecuredFiles:
    """Keys, certificates and users of a secured broker or cluster, in a directory that goes with it."""

    security: Security
    _directory: "tempfile.TemporaryDirectory[str]" = field(
        default_factory=lambda: tempfile.TemporaryDirectory(prefix="tidelog-security-")
    )

    def __post_init__(self) -> None:
        self._broker_password = secrets.token_urlsafe(12)
        from tidelog.security.tls.authority import Authority

        now = datetime.now(UTC)
        authority = Authority.new("tidelog tests", now)
        self.ca_file.write_bytes(authority.pem.certificate)
        broker = authority.issue(BROKER, now, hosts=HOSTS)
        self._pem(BROKER).write_bytes(broker.key + broker.certificate)
        for name in self.security.passwords:
            issued = authority.issue(name, now)
            self._pem(name).write_bytes(issued.key + issued.certificate)
        self._users_file.write_text("".join(self._user_lines()))

    @property
    def ca_file(self) -> Path:
        return Path(self._directory.name) / "ca.pem"

    def close(self) -> None:
        self._directory.cleanup()

    def settings(self, *, listener: str) -> dict[str, str]:
        """For every broker; `listener` is the name of the one that clients use."""
        made = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._pem(BROKER)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
            "ssl.principal.mapping.rules": r"RULE:^CN=([^,]+).*$/$1/,DEFAULT",
            "super.users": f"User:{ADMIN};User:{BROKER}",
        }
        if self.security.protocol == "ssl":
            made[f"listener.name.{listener.lower()}.ssl.client.auth"] = "required"
        else:
            made |= {
                "sasl.enabled.mechanisms": self.security.mechanism,
                "sasl.users.file": str(self._users_file),
                "sasl.mechanism.inter.broker.protocol": self.security.mechanism,
                "sasl.jaas.config": self._login_module(BROKER, self._broker_password),
            }
        if self.security.acls is not None:
            from tidelog.base.settings.authorization import STANDARD_AUTHORIZER

            made["authorizer.class.name"] = STANDARD_AUTHORIZER
        return made

    def client_config(self, servers: str, user: str, library: str) -> dict[str, Any]:
        """The configuration of a client; see `Broker.client_config`."""
        _check("library", library, LIBRARIES)
        if user not in self.security.passwords:
            raise ValueError(f"there is no user {user!r}; there are {', '.join(self.security.passwords)}")
        if library in ("aiokafka", "kafka-python"):
            return self._of_python(servers, user, with_context=library == "aiokafka")
        made = {"bootstrap.servers": servers, "security.protocol": self.security.protocol.upper()}
        if library == "librdkafka":
            return made | self._of_librdkafka(user)
        made |= self._of_java(user)
        return {f"kafka.{name}": value for name, value in made.items()} if library == "spark" else made

    def cluster_settings(self, servers: str, user: str) -> "ClusterSettings":
        """For our blocking client."""
        from tidelog.blocking.security_options import security_of
        from tidelog.blocking.settings import ClusterSettings

        config = self.client_config(servers, user, "librdkafka")
        return ClusterSettings(tuple(servers.split(",")), security_of(config))

    @property
    def _is_tls(self) -> bool:
        return self.security.protocol.endswith("ssl")

    @property
    def _is_sasl(self) -> bool:
        return self.security.protocol.startswith("sasl")

    def _of_librdkafka(self, user: str) -> dict[str, str]:
        made = {"ssl.ca.location": str(self.ca_file)} if self._is_tls else {}
        if not self._is_sasl:
            pem = str(self._pem(user))
            return made | {"ssl.certificate.location": pem, "ssl.key.location": pem}
        return made | {
            "sasl.mechanism": self.security.mechanism,
            "sasl.username": user,
            "sasl.password": self.security.passwords[user],
        }

    def _of_java(self, user: str) -> dict[str, str]:
        made = {}
        if self._is_tls:
            made = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca_file)}
        if not self._is_sasl:
            return made | {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self._pem(user))}
        return made | {
            "sasl.mechanism": self.security.mechanism,
            "sasl.jaas.config": self._login_module(user, self.security.passwords[user]),
        }

    def _login_module(self, user: str, password: str) -> str:
        kind = "plain.Plain" if self.security.mechanism == "PLAIN" else "scram.Scram"
        module = f"org.apache.kafka.common.security.{kind}LoginModule"
        return f'{module} required username="{user}" password="{password}";'

    def _of_python(self, servers: str, user: str, *, with_context: bool) -> dict[str, Any]:
        made: dict[str, Any] = {
            "bootstrap_servers": servers,
            "security_protocol": self.security.protocol.upper(),
        }
        pem = None if self._is_sasl else str(self._pem(user))
        if self._is_tls and with_context:
            context = ssl.create_default_context(cafile=str(self.ca_file))
            if pem is not None:
                context.load_cert_chain(pem)
            made["ssl_context"] = context
        elif self._is_tls:
            made["ssl_cafile"] = str(self.ca_file)
            made |= {} if pem is None else {"ssl_certfile": pem, "ssl_keyfile": pem}
        if self._is_sasl:
            made |= {
                "sasl_mechanism": self.security.mechanism,
                "sasl_plain_username": user,
                "sasl_plain_password": self.security.passwords[user],
            }
        return made

    def _pem(self, user: str) -> Path:
        return Path(self._directory.name) / f"{user}.pem"

    @property
    def _users_file(self) -> Path:
        return Path(self._directory.name) / "users"

    def _user_lines(self) -> Iterable[str]:
        from tidelog.security.sasl.scram_credential import ScramMechanism, new_credential
        from tidelog.security.sasl.users_file import users_file_line

        # PLAIN is checked against the same.
        mechanism = ScramMechanism.by_name(self.security.mechanism) or ScramMechanism.SHA_256
        for name, password in self.security.passwords.items():
            credential = new_credential(mechanism, password, secrets.token_bytes(16))
            yield users_file_line(name, mechanism, credential) + "\n"


def add_acls(files: SecuredFiles, servers: str) -> None:
    """Adds the ACLs of the security, as the administrator."""
    from tidelog.blocking.cluster import Cluster
    from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
    from tidelog.wire.messages.create_acls import AclCreation, CreateAclsRequest

    rows = []
    for user, operation, resource, name in files.security.acls or ():
        is_prefix = name.endswith("*") and name != "*"
        rows.append(
            AclCreation(
                resource_type=_member(ResourceType, resource),
                resource_name=name.removesuffix("*") if is_prefix else name,
                resource_pattern_type=PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
                principal=f"User:{user}",
                host="*",
                operation=_member(Operation, operation),
                permission_type=Permission.ALLOW,
            )
        )
    if not rows:
        return
    with Cluster(files.cluster_settings(servers, ADMIN)) as cluster:
        answer = cluster.call_any(CreateAclsRequest(creations=rows))
    refused = [result for result in answer.results if result.error_code]
    if refused:
        raise ValueError(f"the broker refused an ACL of the test: {refused[0].error_message}")


def _member(kind: Any, text: str) -> Any:
    """`DescribeConfigs`, `describe-configs` and `DESCRIBE_CONFIGS` are the same."""
    wanted = text.replace("-", "").replace("_", "").lower()
    for member in kind:
        if member.name.replace("_", "").lower() == wanted:
            return member
    raise ValueError(f"{text!r} is none of {', '.join(member.name for member in kind)}")


def _check(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is none of {', '.join(choices)}")
