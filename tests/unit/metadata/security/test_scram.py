"""AlterUserScramCredentials as a decision."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.security.scram import ScramDeletion, ScramUpsertion, decide_alter_scram
from tidelog.security.sasl.scram_credential import ScramMechanism, is_password_of, salted_password

SHA_256 = ScramMechanism.SHA_256


def upsertion(user="alice", mechanism=1, iterations=4096, salt=b"salt", password="secret"):
    salted = salted_password(SHA_256, password, salt, iterations) if password else b""
    return ScramUpsertion(user, mechanism, iterations, salt, salted)


def image_with(*upsertions):
    return advance(ClusterImage(), decide_alter_scram(ClusterImage(), upsertions, []).records).after


def test_a_password_that_was_set_is_the_users() -> None:
    credential = image_with(upsertion()).security.credentials["alice", SHA_256]
    assert is_password_of(SHA_256, credential, "secret")
    assert not is_password_of(SHA_256, credential, "Secret")


def test_delete() -> None:
    image = image_with(upsertion(), upsertion("bob"))
    decision = decide_alter_scram(image, [], [ScramDeletion("alice", 1), ScramDeletion("carol", 1)])
    assert [(result.user, result.error) for result in decision.results] == [
        ("alice", ErrorCode.NONE),
        ("carol", ErrorCode.RESOURCE_NOT_FOUND),
    ]
    assert [user for user, _ in advance(image, decision.records).after.security.credentials] == ["bob"]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"user": ""}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"user": "x" * 300}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"mechanism": 0}, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ({"mechanism": 3}, ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ({"iterations": 4095}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"iterations": 16385}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"password": ""}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ({"salt": b""}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_credentials_that_are_refused(change, error) -> None:
    decision = decide_alter_scram(ClusterImage(), [upsertion(**change)], [])
    assert decision.results[0].error is error
    assert not decision.records


def test_a_user_twice_in_a_request_changes_nothing() -> None:
    image = image_with(upsertion())
    decision = decide_alter_scram(image, [upsertion(password="new")], [ScramDeletion("alice", 1)])
    assert [result.error for result in decision.results] == [ErrorCode.DUPLICATE_RESOURCE]
    assert not decision.records


def test_both_mechanisms_of_a_user_at_once() -> None:
    decision = decide_alter_scram(ClusterImage(), [upsertion(), upsertion(mechanism=2)], [])
    assert [result.ok for result in decision.results] == [True]
    assert len(decision.records) == 2
