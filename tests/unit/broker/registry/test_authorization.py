"""Which principal may do what with which subject."""

import json
from collections import deque

import pytest

from tests.rigs.local_registry import LocalRegistry, body_of, record, versions
from tidelog.broker.registry.authorization import topic_of
from tidelog.broker.security.authorizer import Authorizer
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.security_records import AclCreated, AclText
from tidelog.security.acls.vocabulary import Operation, ResourceType

ADMIN, ALICE, BOB = "User:admin", "User:alice", "User:bob"


def acl(principal, operation, name, pattern="LITERAL", kind="TOPIC"):
    return AclCreated(AclText(kind, pattern, name, principal, "*", operation, "ALLOW"))


class Denials:
    """Stands for the audit record."""

    def __init__(self):
        self.events = deque()

    def denied(self, actor, api, operation, resource_type, name):
        self.events.append((actor.principal, actor.host, api, operation, resource_type, name))


@pytest.fixture
def registry():
    authorizer = Authorizer([ADMIN])
    records = [
        acl(ALICE, "WRITE", "orders"),
        acl(BOB, "READ", "orders"),
        acl(BOB, "DESCRIBE", ":.staging:", "PREFIXED"),
        acl(BOB, "DELETE", "orders"),
        acl(ALICE, "ALTER_CONFIGS", "orders"),
    ]
    authorizer.follow(advance(ClusterImage(), records).after)
    made = LocalRegistry(authorizer, Denials())
    for subject, fields in (("orders-value", "a"), ("secret-value", "s"), (":.staging:x-value", "x")):
        got = made.post(versions(subject), body_of(record(fields)), principal=ADMIN)
        assert got.status == 200
    return made


@pytest.mark.parametrize(
    ("subject", "topic"),
    [
        ("orders-value", "orders"),
        ("orders-key", "orders"),
        ("orders", "orders"),
        ("com.example.Order", "com.example.Order"),
        ("a-key-value", "a-key"),
        ("-value", "-value"),
        (":.staging:orders-value", ":.staging:orders"),
    ],
)
def test_a_subject_is_authorized_as_a_topic(subject, topic):
    assert topic_of(subject) == topic


def test_a_producer_registers_and_a_consumer_reads(registry):
    body = body_of(record("a", "b"))
    assert registry.post(versions("orders-value"), body, principal=BOB).status == 403
    assert registry.post(versions("orders-value"), body, principal=ALICE).status == 200
    assert registry.get(f"{versions('orders-value')}/latest", principal=BOB).json["version"] == 2
    assert registry.get("/schemas/ids/1", principal=BOB).status == 200


def test_a_refusal_says_what_is_missing_and_is_recorded(registry):
    got = registry.post(versions("secret-value"), body_of(record("a")), principal=ALICE)
    assert (got.status, got.code) == (403, 40301)
    assert got.json["message"] == (
        "User:alice is denied operation Write on Subject: secret-value. "
        "It needs WRITE on the topic secret; an administrator can allow that."
    )
    assert registry.security.denials == {(Operation.WRITE, ResourceType.TOPIC): 1}
    assert registry.security.audit.events[0] == (
        *(ALICE, "10.0.0.1", "SchemaRegistry", Operation.WRITE, ResourceType.TOPIC, "secret"),
    )


def test_a_permission_on_a_topic_does_not_reach_into_a_context(registry):
    path = versions(":.staging:orders-value")
    assert registry.post(path, body_of(record("a")), principal=ALICE).status == 403
    assert registry.get(versions(":.staging:x-value"), principal=BOB).json == [1]
    assert registry.get(versions(":.staging:x-value"), principal=ALICE).status == 403


def test_a_version_in_another_context_needs_the_permission_there(registry):
    body = body_of(record("x"))
    for path in (f"{versions('x-value')}/1", f"{versions('x-value')}/latest/schema"):
        assert registry.get(path, principal=BOB).status == 200
        assert registry.get(path, principal=ALICE).status == 403
    assert registry.post("/subjects/x-value", body, principal=BOB).json["subject"] == ":.staging:x-value"
    assert registry.post("/subjects/x-value", body, principal=ALICE).status == 403
    hidden = body_of(record("a"))
    assert registry.post(versions(":.other:orders-value"), hidden, principal=ADMIN).status == 200
    registry.post(versions("orders-value"), body_of(record("a", "b")), principal=ADMIN)
    registry.delete(f"{versions('orders-value')}/1", principal=ADMIN)
    assert registry.get(f"{versions('orders-value')}/1", principal=ALICE).code == 40402
    assert registry.post("/subjects/orders-value", hidden, principal=ALICE).code == 40403
    assert registry.post("/subjects/orders-value", hidden, principal=ADMIN).status == 200


def test_an_answer_does_not_tell_whether_a_hidden_subject_is_there(registry):
    """BOB may see `:.staging:secret-value`, and nothing of `secret-value` in the default context."""
    mine = body_of(record("mine"))
    assert registry.post(versions(":.staging:secret-value"), mine, principal=ADMIN).status == 200
    assert registry.get(f"{versions('secret-value')}/1", principal=ADMIN).json["subject"] == "secret-value"
    for _ in range(2):
        found = registry.get(f"{versions('secret-value')}/1", principal=BOB)
        assert found.json["subject"] == ":.staging:secret-value"
        found = registry.post("/subjects/secret-value", mine, principal=BOB)
        assert found.json["subject"] == ":.staging:secret-value"
        assert registry.get(f"{versions('secret-value')}/2", principal=BOB).status == 403
        assert registry.post("/subjects/secret-value", body_of(record("s")), principal=BOB).status == 403
        registry.delete("/subjects/secret-value", principal=ADMIN)


def test_lists_leave_out_what_a_principal_may_not_see(registry):
    assert registry.get("/subjects", principal=ALICE).json == ["orders-value"]
    assert registry.get("/subjects", principal=BOB).json == [":.staging:x-value", "orders-value"]
    assert registry.get("/contexts", principal=ALICE).json == ["."]
    assert registry.get("/contexts", principal=BOB).json == [".", ".staging"]
    assert [one["subject"] for one in registry.get("/schemas", principal=BOB).json] == ["orders-value"]
    assert not registry.security.audit.events


def test_an_id_is_shown_to_principals_that_see_one_of_its_subjects(registry):
    secret = registry.get(f"{versions('secret-value')}/1", principal=ADMIN).json
    for path in (f"/schemas/ids/{secret['id']}", f"/schemas/ids/{secret['id']}/schema"):
        assert registry.get(path, principal=ALICE).status == 403
    assert registry.get(f"/schemas/guids/{secret['guid']}", principal=ALICE).status == 403
    registry.post(versions("orders-key"), body_of(record("s")), principal=ALICE)
    assert registry.get(f"/schemas/ids/{secret['id']}", principal=ALICE).status == 200
    subjects = registry.get(f"/schemas/ids/{secret['id']}/subjects", principal=ALICE).json
    assert subjects == ["orders-key"]


def test_a_reference_needs_the_permission_to_read(registry):
    person = {"type": "record", "name": "P", "fields": [{"name": "o", "type": "Order"}]}
    reference = {"name": "Order", "subject": "secret-value", "version": 1}
    body = body_of(person, references=[reference])
    for path in (versions("orders-key"), "/subjects/orders-value", f"/compatibility{versions('orders-key')}"):
        assert registry.post(path, body, principal=ALICE).status == 403


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("DELETE", "/subjects/orders-value", None, BOB),
        ("DELETE", "/subjects/orders-value/versions/1", None, BOB),
        ("PUT", "/config/orders-value", {"compatibility": "NONE"}, ALICE),
        ("PUT", "/mode/orders-value", {"mode": "READONLY"}, ALICE),
        ("PUT", "/mode/new-value", {"mode": "IMPORT"}, ADMIN),
        ("PUT", "/mode/orders-key", {"mode": "IMPORT"}, ADMIN),
        ("PUT", "/config", {"compatibility": "NONE"}, ADMIN),
        ("DELETE", "/config", None, ADMIN),
        ("PUT", "/mode", {"mode": "READONLY"}, ADMIN),
        ("PUT", "/contexts/.staging/config", {"compatibility": "NONE"}, ADMIN),
    ],
)
def test_changes_have_permissions_of_their_own(registry, method, path, body, allowed):
    send = {"DELETE": lambda who: registry.delete(path, principal=who)}.get(
        method, lambda who: registry.put(path, body, principal=who)
    )
    before = json.dumps(registry.get("/schemas", "deleted=true", principal=ADMIN).json)
    for other in {ALICE, BOB} - {allowed}:
        assert send(other).status == 403
    assert json.dumps(registry.get("/schemas", "deleted=true", principal=ADMIN).json) == before
    assert send(allowed).status == 200
