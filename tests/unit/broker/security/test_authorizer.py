"""What is allowed follows the metadata at once: ACLs, roles, super users, and what was kept."""

import pytest

from tidelog.base.errors import KafkaError
from tidelog.broker.security import authorizer as module
from tidelog.broker.security.authorizer import Authorizer, super_users_of
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.security_records import (
    AclCreated,
    AclDeleted,
    AclText,
    GrantText,
    RoleChanged,
    RoleDeleted,
    RoleMembersChanged,
)
from tidelog.security.acls.index import AclIndex
from tidelog.security.acls.vocabulary import Operation, ResourceType

ALICE = "User:alice"
ACL = AclText("TOPIC", "LITERAL", "orders", ALICE, "*", "READ", "ALLOW")
ROLE = RoleChanged("analyst", (GrantText("TOPIC", "LITERAL", "orders", ("READ",)),))
MEMBERS = RoleMembersChanged("analyst", (ALICE,))


class Following:
    """An authorizer behind a metadata log."""

    def __init__(self, **rules) -> None:
        self.image = ClusterImage()
        self.authorizer = Authorizer(**rules)

    def apply(self, *records) -> None:
        self.image = advance(self.image, records).after
        self.authorizer.follow(self.image)

    def may_read(self, name="orders", principal=ALICE) -> bool:
        return self.authorizer.allows(principal, "192.0.2.1", Operation.READ, ResourceType.TOPIC, name)


def test_a_permission_holds_until_it_is_revoked() -> None:
    following = Following()
    assert not following.may_read()
    following.apply(AclCreated(ACL))
    assert following.may_read()
    following.apply(AclDeleted(ACL))
    assert not following.may_read()


def test_a_role_and_an_acl_that_say_the_same() -> None:
    following = Following()
    following.apply(AclCreated(ACL), ROLE, MEMBERS)
    following.apply(AclDeleted(ACL))
    assert following.may_read()
    following.apply(RoleMembersChanged("analyst", ()))
    assert not following.may_read()
    following.apply(MEMBERS)
    assert following.may_read()
    following.apply(RoleDeleted("analyst"))
    assert not following.may_read()


def test_super_users_may_do_everything() -> None:
    following = Following(super_users=["User:admin"])
    following.apply(AclCreated(AclText("TOPIC", "LITERAL", "*", "User:*", "*", "ALL", "DENY")))
    assert following.may_read(principal="User:admin")
    assert not following.may_read(principal="User:alice")


def test_resources_without_any_acl() -> None:
    following = Following(allow_if_no_acl=True)
    following.apply(AclCreated(ACL))
    assert following.may_read("other", "User:bob")
    assert not following.may_read("orders", "User:bob")
    # Bob may read some topic: there are others than orders.
    assert following.authorizer.allows_on_any("User:bob", "h", Operation.READ, ResourceType.TOPIC)
    following.apply(AclCreated(AclText("TOPIC", "LITERAL", "*", ALICE, "*", "READ", "ALLOW")))
    assert not following.authorizer.allows_on_any("User:bob", "h", Operation.READ, ResourceType.TOPIC)


def test_the_version_grows_with_what_is_allowed_alone() -> None:
    following = Following()
    following.apply(ROLE)
    assert following.authorizer.version == 0
    following.apply(MEMBERS)
    assert following.authorizer.version == 1


def test_allowed_operations_are_bits() -> None:
    following = Following()
    following.apply(AclCreated(ACL))
    bits = following.authorizer.allowed_operations(ALICE, "h", ResourceType.TOPIC, "orders")
    assert bits == 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_any_topic_will_do() -> None:
    following = Following()
    following.apply(AclCreated(ACL))
    assert following.authorizer.allows_on_any(ALICE, "h", Operation.READ, ResourceType.TOPIC)
    assert not following.authorizer.allows_on_any(ALICE, "h", Operation.WRITE, ResourceType.TOPIC)
    assert not following.authorizer.allows_on_cluster(ALICE, "h", Operation.CREATE)


def test_any_topic_is_looked_for_once(monkeypatch) -> None:
    """It looks at all ACLs, and a client can ask with each request for a producer id."""
    following = Following()
    following.apply(AclCreated(ACL))
    looks = []
    decide_any = AclIndex.decide_any
    monkeypatch.setattr(AclIndex, "decide_any", lambda *asked: looks.append(asked) or decide_any(*asked))
    answers = [
        following.authorizer.allows_on_any(ALICE, "h", Operation.WRITE, ResourceType.TOPIC) for _ in range(3)
    ]
    assert (answers, len(looks)) == ([False] * 3, 1)
    following.apply(AclCreated(AclText("TOPIC", "LITERAL", "x", ALICE, "*", "WRITE", "ALLOW")))
    assert following.authorizer.allows_on_any(ALICE, "h", Operation.WRITE, ResourceType.TOPIC)


def test_invented_names_do_not_fill_the_memory(monkeypatch) -> None:
    monkeypatch.setattr(module, "KEPT_MAX", 10)
    following = Following()
    for number in range(100):
        following.may_read(f"topic-{number}")
    assert len(following.authorizer._kept) <= 10


def test_long_names_are_not_kept() -> None:
    """Fifty thousand of 32 KiB would be more memory than most brokers have."""
    following = Following()
    assert not following.may_read("x" * 32_000)
    assert not following.authorizer._kept


def test_super_users_as_text() -> None:
    assert super_users_of(" User:a;User:CN=b,OU=x ; ") == ["User:a", "User:CN=b,OU=x"]
    with pytest.raises(KafkaError, match="not a principal"):
        super_users_of("alice")


def test_a_topic_that_only_brokers_write_to() -> None:
    following = Following(super_users=["User:broker"], written_by_brokers=["__audit"])
    following.apply(AclCreated(AclText("TOPIC", "LITERAL", "*", ALICE, "*", "ALL", "ALLOW")))
    allows = following.authorizer.allows
    assert not allows(ALICE, "h", Operation.WRITE, ResourceType.TOPIC, "__audit")
    assert allows(ALICE, "h", Operation.READ, ResourceType.TOPIC, "__audit")
    assert allows(ALICE, "h", Operation.WRITE, ResourceType.TOPIC, "orders")
    assert allows("User:broker", "h", Operation.WRITE, ResourceType.TOPIC, "__audit")
    cluster = AclText("CLUSTER", "LITERAL", "kafka-cluster", ALICE, "*", "CLUSTER_ACTION", "ALLOW")
    following.apply(AclCreated(cluster))
    assert allows(ALICE, "h", Operation.WRITE, ResourceType.TOPIC, "__audit")
