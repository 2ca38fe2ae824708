"""kafka-acls against a broker with an authorizer: what it adds, lists and removes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.testing import Broker

ACLS = "org.apache.kafka.tools.AclCommand"
Acls = Callable[..., str]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Broker]:
    """A broker with an authorizer, on which clients without authentication may do everything."""
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with Broker(settings=settings) as broker:
        yield broker


@pytest.fixture
def acls(open_client: Callable[[str], Any], guarded: Broker) -> Iterator[Acls]:
    java = open_client("java")

    def run(*arguments: str) -> str:
        return str(java.tool(ACLS, "--bootstrap-server", guarded.bootstrap_servers, *arguments))

    yield run
    run("--remove", "--force", "--topic", "*", "--resource-pattern-type", "any")


def listed(text: str) -> set[str]:
    """The ACLs in the output of --list, without the resources."""
    return {line.strip() for line in text.splitlines() if line.strip().startswith("(principal=")}


def test_a_producer_and_a_consumer(acls: Acls) -> None:
    added = acls("--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
    assert "resourceType=TOPIC, name=orders, patternType=LITERAL" in added
    acls("--add", "--allow-principal", "User:bob", "--consumer", "--topic", "orders", "--group", "g")
    assert listed(acls("--list", "--topic", "orders")) == {
        f"(principal=User:{who}, host=*, operation={operation}, permissionType=ALLOW)"
        for who, operation in (
            ("alice", "WRITE"),
            ("alice", "DESCRIBE"),
            ("alice", "CREATE"),
            ("bob", "READ"),
            ("bob", "DESCRIBE"),
        )
    }
    assert "operation=READ" in acls("--list", "--group", "g")

    acls(
        "--remove", "--force", "--allow-principal", "User:alice", "--operation", "Create", "--topic", "orders"
    )
    left = listed(acls("--list", "--topic", "orders", "--principal", "User:alice"))
    assert {acl.split("operation=")[1].split(",")[0] for acl in left} == {"WRITE", "DESCRIBE"}
    acls(
        *("--remove", "--force", "--allow-principal", "User:bob", "--consumer"),
        *("--topic", "orders", "--group", "g"),
    )
    assert "User:bob" not in acls("--list")


def test_prefixes_hosts_and_denials(acls: Acls) -> None:
    prefixed = ("--topic", "eu-", "--resource-pattern-type", "prefixed")
    acls("--add", "--allow-principal", "User:carol", "--operation", "Read", *prefixed)
    acls(
        *("--add", "--deny-principal", "User:carol", "--deny-host", "192.0.2.7"),
        *("--operation", "All", "--topic", "eu-secret"),
    )
    matching = acls("--list", "--topic", "eu-secret", "--resource-pattern-type", "match")
    assert "name=eu-, patternType=PREFIXED" in matching
    assert listed(matching) == {
        "(principal=User:carol, host=*, operation=READ, permissionType=ALLOW)",
        "(principal=User:carol, host=192.0.2.7, operation=ALL, permissionType=DENY)",
    }
    acls("--remove", "--force", *prefixed)
    assert listed(acls("--list", "--topic", "eu-secret", "--resource-pattern-type", "match")) == {
        "(principal=User:carol, host=192.0.2.7, operation=ALL, permissionType=DENY)"
    }


def test_on_the_cluster_and_a_transactional_id(acls: Acls) -> None:
    acls("--add", "--allow-principal", "User:dan", "--operation", "ClusterAction", "--cluster")
    acls("--add", "--allow-principal", "User:dan", "--operation", "Write", "--transactional-id", "t1")
    text = acls("--list", "--principal", "User:dan")
    assert "resourceType=CLUSTER, name=kafka-cluster" in text
    assert "resourceType=TRANSACTIONAL_ID, name=t1" in text
    acls("--remove", "--force", "--cluster")
    acls("--remove", "--force", "--transactional-id", "t1")
    assert "User:dan" not in acls("--list")
