"""Records on security: they build the image, and the image gives the same records back."""

import pytest

from tidelog.base.invariant import InvariantError
from tidelog.metadata.image.as_records import image_records
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import FeatureChanged, decode_record, encode_record
from tidelog.metadata.image.security_records import (
    AclCreated,
    AclDeleted,
    AclText,
    DelegationTokenChanged,
    DelegationTokenDeleted,
    GrantText,
    QuotaChanged,
    RoleChanged,
    RoleDeleted,
    RoleMembersChanged,
    ScramCredentialChanged,
    ScramCredentialDeleted,
)
from tidelog.security.quotas.entity import ABSENT, QuotaEntity, QuotaKey
from tidelog.security.sasl.scram_credential import ScramMechanism

ACL = AclText("TOPIC", "LITERAL", "orders", "User:alice", "*", "READ", "ALLOW")
ROLE = RoleChanged("analyst", (GrantText("TOPIC", "PREFIXED", "orders.", ("READ", "DESCRIBE")),))
CREDENTIAL = ScramCredentialChanged("alice", "SCRAM-SHA-512", 4096, b"salt", b"stored", b"server")
TOKEN = DelegationTokenChanged("t1", "User:alice", "User:admin", ("User:bob",), 1, 2, 3)
ALL = [
    AclCreated(ACL),
    ROLE,
    RoleMembersChanged("analyst", ("User:bob", "User:carol")),
    CREDENTIAL,
    QuotaChanged({"user": "alice", "client-id": None}, "producer_byte_rate", 1024.0),
    QuotaChanged({"ip": None}, "connection_creation_rate", 5.0),
    TOKEN,
]


def image_of(*records):
    return advance(ClusterImage(), records).after


@pytest.mark.parametrize("record", ALL, ids=lambda record: type(record).__name__)
def test_records_survive_the_log(record) -> None:
    assert decode_record(encode_record(record)) == record


def test_an_image_gives_its_records_back() -> None:
    image = image_of(*ALL)
    assert list(image_records(image)) == ALL
    assert image_of(*image_records(image)) == image


def test_what_the_image_says() -> None:
    security = image_of(*ALL).security
    assert {acl.principal for acl in security.all_acls()} == {"User:alice", "User:bob", "User:carol"}
    assert len(list(security.all_acls())) == 1 + 2 * 2
    assert security.credentials["alice", ScramMechanism.SHA_512].salt == b"salt"
    assert security.quotas[QuotaEntity("alice", None)] == {QuotaKey.PRODUCER_BYTE_RATE: 1024.0}
    assert security.quotas[QuotaEntity(ABSENT, ABSENT, None)] == {QuotaKey.CONNECTION_CREATION_RATE: 5.0}
    assert security.tokens["t1"].is_valid(1)
    assert not security.tokens["t1"].is_valid(2)


def test_what_was_taken_away_is_gone() -> None:
    ends = [
        AclDeleted(ACL),
        RoleDeleted("analyst"),
        ScramCredentialDeleted("alice", "SCRAM-SHA-512"),
        QuotaChanged({"client-id": None, "user": "alice"}, "producer_byte_rate", None),
        QuotaChanged({"ip": None}, "connection_creation_rate", None),
        DelegationTokenDeleted("t1"),
    ]
    assert image_of(*ALL, *ends).security == ClusterImage().security


def test_members_stay_when_permissions_change() -> None:
    changed = RoleChanged("analyst", (GrantText("GROUP", "LITERAL", "g", ("READ",)),))
    role = image_of(*ALL, changed).security.roles["analyst"]
    assert role.principals == ("User:bob", "User:carol")
    assert [grant.resource_name for grant in role.grants] == ["g"]


def test_other_changes_share_what_security_says() -> None:
    before = image_of(*ALL)
    delta = advance(before, [FeatureChanged("x", 1)])
    assert delta.after.security is before.security
    assert not delta.security_changed
    assert advance(before, [AclDeleted(ACL)]).security_changed


@pytest.mark.parametrize(
    "record",
    [
        AclDeleted(ACL),
        RoleDeleted("analyst"),
        RoleMembersChanged("analyst", ()),
        ScramCredentialDeleted("alice", "SCRAM-SHA-512"),
        ScramCredentialDeleted("alice", "MD5"),
        DelegationTokenDeleted("t1"),
        AclCreated(AclText("PLANET", "LITERAL", "orders", "User:alice", "*", "READ", "ALLOW")),
    ],
)
def test_records_that_do_not_fit(record) -> None:
    with pytest.raises(InvariantError):
        image_of(record)


def test_an_acl_is_created_once() -> None:
    with pytest.raises(InvariantError):
        image_of(AclCreated(ACL), AclCreated(ACL))
