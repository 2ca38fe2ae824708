"""What `tidelog security check` finds, from settings, ACLs, users, certificates and files."""

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidelog.cli.findings import CheckFinding, Severity, merged
from tidelog.cli.security.checks.broker_facts import BrokerFacts
from tidelog.cli.security.checks.certificates import check_certificates
from tidelog.cli.security.checks.cluster_facts import ClusterFacts, read_file_facts
from tidelog.cli.security.checks.command import file_findings, findings
from tidelog.cli.security.checks.handshake import Handshake, Handshaker
from tidelog.cli.security.checks.key_files import check_key_files
from tidelog.cli.security.checks.listeners import check_listeners
from tidelog.cli.security.checks.permissions import check_acls, check_authorizer, check_roles
from tidelog.cli.security.checks.users import check_users
from tidelog.cli.security.credentials import ListedUser
from tidelog.metadata.image.security import Grant, Role
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.security.tls.authority import Authority

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SECURED = {
    "listeners": "CLIENTS://0.0.0.0:9092,BROKERS://localhost:9093",
    "advertised.listeners": "CLIENTS://kafka-1:9092,BROKERS://localhost:9093",
    "listener.security.protocol.map": "CLIENTS:SASL_SSL,BROKERS:SSL",
    "inter.broker.listener.name": "BROKERS",
    "listener.name.brokers.ssl.client.auth": "required",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
    "authorizer.class.name": "x",
    "super.users": "User:admin;User:broker-1",
}
AUTHORITY = Authority.new("a", NOW - timedelta(days=1000))


def broker(**changes: str) -> BrokerFacts:
    """Secured, but for the changes; their names have underscores for dots."""
    return BrokerFacts(
        "broker 1", SECURED | {name.replace("_", "."): value for name, value in changes.items()}
    )


def shaken(days: float = 300, **others: object) -> Handshaker:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    began = NOW - timedelta(days=50)
    pem = AUTHORITY.issue("broker-1", began, hosts=["kafka-1"], days=50 + days).certificate
    certificate = x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)
    return lambda host, port: Handshake(**{"certificate": certificate, **others})  # type: ignore[arg-type]


def codes(found: object) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in found}  # type: ignore[attr-defined]


def test_a_secured_cluster_has_no_findings() -> None:
    users = (ListedUser("admin", {"SCRAM-SHA-512": 8192}),)
    facts = ClusterFacts((broker(),), (acl(),), users)
    assert list(findings(facts, shaken(), NOW)) == []


def test_a_plain_broker_is_open() -> None:
    facts = ClusterFacts((BrokerFacts("broker 1", {"listeners": "PLAINTEXT://0.0.0.0:9092"}),))
    found = merged(findings(facts, shaken(), NOW))
    assert codes(found) == {"no-authorizer": Severity.SERIOUS, "plain-listener": Severity.SERIOUS}
    plain = found[-1]
    assert plain.where == "broker 1, PLAINTEXT://0.0.0.0:9092"
    assert "every network" in plain.what
    assert "tidelog up --secure" in plain.mend


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"listener_security_protocol_map": "CLIENTS:SASL_PLAINTEXT,BROKERS:SSL"},
            {"passwords-in-the-clear": Severity.SERIOUS, "sasl-without-tls": Severity.MEDIUM},
        ),
        (
            {
                "listener_security_protocol_map": "CLIENTS:SASL_PLAINTEXT,BROKERS:SSL",
                "listener_name_clients_sasl_enabled_mechanisms": "SCRAM-SHA-512",
            },
            {"sasl-without-tls": Severity.MEDIUM},
        ),
        (
            {"listener_name_brokers_ssl_client_auth": "requested"},
            {"brokers-without-certificates": Severity.SERIOUS},
        ),
        (
            {"listener_security_protocol_map": "CLIENTS:SSL,BROKERS:SSL"},
            {"anonymous-tls": Severity.MEDIUM},
        ),
        (
            {
                "listeners": "SASL_SSL://:1,SSL://:2",
                "inter_broker_listener_name": "",
                "security_inter_broker_protocol": "SSL",
            },
            {"brokers-without-certificates": Severity.SERIOUS},
        ),
        ({"ssl_client_auth": "required"}, {"client-auth-without-effect": Severity.LOW}),
        ({"ssl_client_auth": "required", "listener_name_clients_ssl_client_auth": "required"}, {}),
        ({"listener_security_protocol_map": "BROKERS:SSL"}, {"plain-listener": Severity.SERIOUS}),
        ({"authorizer_class_name": ""}, {"no-authorizer": Severity.SERIOUS}),
        ({"allow_everyone_if_no_acl_found": "true"}, {"open-by-default": Severity.SERIOUS}),
        ({"super_users": "User:admin; User:ANONYMOUS"}, {"anonymous-super-user": Severity.SERIOUS}),
    ],
)
def test_settings(changes: dict[str, str], expected: dict[str, Severity]) -> None:
    changed = broker(**changes)
    assert codes([*check_listeners(changed), *check_authorizer(changed)]) == expected


def acl(
    principal: str = "User:alice",
    operation: Operation = Operation.READ,
    name: str = "orders",
    kind: ResourceType = ResourceType.TOPIC,
    permission: Permission = Permission.ALLOW,
) -> Acl:
    return Acl(kind, PatternType.LITERAL, name, principal, "*", operation, permission)


@pytest.mark.parametrize(
    ("found", "severity"),
    [
        (acl("User:*"), Severity.MEDIUM),
        (acl("User:*", Operation.WRITE), Severity.SERIOUS),
        (acl("User:ANONYMOUS", Operation.ALL, "*"), Severity.SERIOUS),
        (acl("User:*", Operation.DESCRIBE, "kafka-cluster", ResourceType.CLUSTER), Severity.SERIOUS),
        (acl(operation=Operation.ALL, name="*"), Severity.MEDIUM),
    ],
)
def test_acls_that_allow_too_much(found: Acl, severity: Severity) -> None:
    [finding] = check_acls([found, acl(), acl("User:*", permission=Permission.DENY)])
    assert finding.severity is severity
    name = shlex.quote(found.resource_name)
    assert f"--topic {name}" in finding.mend or found.resource_type is ResourceType.CLUSTER


def role(*principals: str, operation: Operation = Operation.READ, name: str = "orders") -> Role:
    grant = Grant(ResourceType.TOPIC, PatternType.LITERAL, name, (operation,))
    return Role("crew", (grant,), principals)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (role("User:*"), {"role-for-everyone": Severity.MEDIUM}),
        (role("User:alice", "User:*", operation=Operation.WRITE), {"role-for-everyone": Severity.SERIOUS}),
        (role("User:ANONYMOUS", operation=Operation.ALL), {"role-for-everyone": Severity.SERIOUS}),
        (role("User:alice", operation=Operation.ALL, name="*"), {"role-on-everything": Severity.MEDIUM}),
        (role(operation=Operation.ALL, name="*"), {}),
        (role("User:alice", operation=Operation.ALL), {}),
    ],
)
def test_roles_that_allow_too_much(found: Role, expected: dict[str, Severity]) -> None:
    all_found = list(findings(ClusterFacts((broker(),), roles=(found,)), shaken(), NOW))
    assert codes(all_found) == expected
    for finding in all_found:
        assert finding in check_roles([found])
        assert finding.mend.startswith("tidelog role revoke crew --from ")
        assert "the role 'crew' lets" in finding.what


@pytest.mark.parametrize(
    ("shake", "expected"),
    [
        (shaken(40), {}),
        (shaken(20), {"certificate-ends-soon": Severity.MEDIUM}),
        (shaken(3), {"certificate-ends-soon": Severity.SERIOUS}),
        (shaken(-1), {"certificate-expired": Severity.SERIOUS}),
        (
            shaken(-1, is_trusted=False, problem="certificate has expired"),
            {"certificate-expired": Severity.SERIOUS},
        ),
        (
            shaken(is_trusted=False, problem="Hostname mismatch"),
            {"certificate-not-trusted": Severity.SERIOUS},
        ),
        (
            shaken(is_trusted=False, problem="self-signed certificate"),
            {"certificate-not-trusted": Severity.MEDIUM},
        ),
        (shaken(weak_cipher="AES128-SHA"), {"weak-cipher": Severity.MEDIUM}),
        (lambda host, port: Handshake(problem="refused"), {"no-handshake": Severity.SERIOUS}),
    ],
)
def test_certificates(shake: Handshaker, expected: dict[str, Severity]) -> None:
    assert codes(check_certificates(broker(), shake, NOW)) == expected


def test_the_handshake_goes_to_the_advertised_address() -> None:
    asked = []

    def shake(host: str, port: int) -> Handshake:
        asked.append((host, port))
        return Handshake(problem="x")

    list(check_certificates(broker(), shake, NOW))
    assert asked == [("kafka-1", 9092), ("localhost", 9093)]


def test_few_iterations_are_a_note() -> None:
    [finding] = check_users(
        [ListedUser("a", {"SCRAM-SHA-256": 1000}), ListedUser("b", {"SCRAM-SHA-512": 8192})]
    )
    assert (finding.severity, finding.where) == (Severity.LOW, "user 'a'")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0o600, {}), (0o640, {"readable-secret": Severity.LOW}), (0o644, {"readable-secret": Severity.SERIOUS})],
)
def test_key_files_on_this_machine(mode: int, expected: dict[str, Severity], tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.touch()
    key.chmod(mode)
    assert codes(check_key_files(broker(ssl_keystore_location=str(key)))) == expected
    assert codes(check_key_files(broker(listener_name_x_ssl_keystore_location=str(key)))) == expected
    assert not codes(check_key_files(broker(ssl_keystore_location=str(tmp_path / "elsewhere"))))


def test_a_settings_file_is_judged_like_a_broker(tmp_path: Path) -> None:
    file = tmp_path / "broker.yaml"
    file.write_text("listeners: [PLAINTEXT://localhost:9092]\nssl: {key: {password: secret}}\n")
    file.chmod(0o644)
    assert codes(file_findings(str(file))).keys() == {"plain-listener", "no-authorizer", "readable-secret"}
    assert "secret" not in repr([finding.as_json() for finding in file_findings(str(file))]).replace(
        "readable-secret", ""
    )
    assert read_file_facts(str(file)).settings["ssl.key.password"] == "secret"


def test_the_same_at_several_brokers_is_one_finding() -> None:
    def found(where: str, severity: Severity = Severity.LOW) -> CheckFinding:
        return CheckFinding("c", severity, where, "what", "why", "mend")

    assert [
        (finding.severity, finding.where)
        for finding in merged(
            [found("broker 1"), found("broker 2"), found("broker 1"), found("x", Severity.SERIOUS)]
        )
    ] == [(Severity.SERIOUS, "x"), (Severity.LOW, "broker 1; broker 2")]
