"""The first users of a new cluster: the file, and the entry that its first controller writes."""

import pytest

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import StorageError
from tidelog.metadata.brokers.features import METADATA_VERSION, refusal_of_records
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import TopicCreated, encode_record
from tidelog.metadata.image.security_builder import credential_record
from tidelog.metadata.security import bootstrap as file
from tidelog.metadata.security.bootstrap import Bootstrap, decide_new_cluster
from tidelog.security.sasl.scram_credential import ScramMechanism, is_password_of, new_credential

SHA_512 = ScramMechanism.SHA_512


def bootstrap(password: str = "secret", cluster_id: str = "c") -> Bootstrap:
    credential = new_credential(SHA_512, password, b"salt")
    return Bootstrap(cluster_id, (credential_record("admin", SHA_512, credential),))


def decide(image: ClusterImage, users: Bootstrap | None) -> ClusterImage:
    decision = decide_new_cluster(image, cluster_id="c", config=BrokerConfig(), bootstrap=users)
    assert decision.results == ["c"]
    return advance(image, decision.records).after


def test_a_new_cluster_begins_with_its_features_and_users_in_one_entry() -> None:
    image = decide(ClusterImage(), bootstrap())
    assert image.cluster_id == "c"
    assert METADATA_VERSION in image.features
    assert is_password_of(SHA_512, image.security.credentials["admin", SHA_512], "secret")
    assert bootstrap().is_in(image)


def test_a_cluster_that_exists_keeps_its_own_users() -> None:
    old = decide(ClusterImage(), None)
    image = decide(old, bootstrap())
    assert image.security.credentials == {}
    assert not bootstrap().is_in(image)


def test_a_second_file_does_not_change_a_password() -> None:
    image = decide(decide(ClusterImage(), bootstrap("first")), bootstrap("second"))
    assert is_password_of(SHA_512, image.security.credentials["admin", SHA_512], "first")
    assert not bootstrap("second").is_in(image)


def test_the_file_is_read_as_it_was_written() -> None:
    assert Bootstrap.load(bootstrap().dump(), "f") == bootstrap()
    assert b"secret" not in bootstrap().dump()


def signed(*lines: bytes) -> bytes:
    import hashlib

    content = b"".join(line + b"\n" for line in lines)
    return content + b"# sha256 " + hashlib.sha256(content).hexdigest().encode() + b"\n"


HEADER = b'{"version":1,"cluster_id":""}'


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "checksum"),
        (bootstrap().dump()[:-2], "checksum"),
        (bootstrap().dump().replace(b'"admin"', b'"nimda"'), "checksum"),
        (signed(HEADER.replace(b"1", b"2")), "version 2"),
        (signed(HEADER, encode_record(TopicCreated("t", "0" * 22))), "TopicCreated"),
        (signed(HEADER, b'{"type":"scram-credential-changed"}'), "breaks its schema"),
        (signed(HEADER, bootstrap().dump().splitlines()[1].replace(b"SHA-512", b"SHA-1")), "mechanism"),
        (signed(b"[]"), "f is damaged"),
        (b"x" * (file.BYTES_MAX + 1), "limit"),
    ],
)
def test_a_file_that_was_changed_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(StorageError, match=reason) as caught:
        Bootstrap.load(raw, "f")
    assert "tidelog security init" in str(caught.value)


def test_the_entry_is_one_that_the_controller_may_write() -> None:
    decision = decide_new_cluster(
        ClusterImage(), cluster_id="c", config=BrokerConfig(), bootstrap=bootstrap()
    )
    assert refusal_of_records(ClusterImage(), decision.records) is None
    assert refusal_of_records(ClusterImage(), bootstrap().credentials) is not None
