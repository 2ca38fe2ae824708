"""Users that do not exist look like those that do, and say nothing about any password."""

from tidelog.broker.security.unknown_users import UnknownUsers, secret_of
from tidelog.broker.security.users import Users
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.security import SecurityImage
from tidelog.security.sasl.scram_credential import ScramCredential, ScramMechanism

SHA_256, SHA_512 = ScramMechanism
NAMES = [f"user-{number}" for number in range(200)]


def credential(salt: bytes, iterations: int) -> ScramCredential:
    return ScramCredential(salt, iterations, b"stored", b"server")


def shapes(unknown: UnknownUsers, mechanism: ScramMechanism = SHA_256) -> set[tuple[int, int, bool]]:
    made = [unknown.credential(mechanism, name) for name in NAMES]
    return {(each.iterations, len(each.salt), each.salt.isalnum()) for each in made}


def test_their_iterations_and_salts_are_like_those_of_known_users() -> None:
    known = {
        ("a", SHA_256): credential(bytes(range(64)), 8192),
        ("b", SHA_256): credential(b"1lq2w3e4r5t6z7u8i9o0p1a2s3", 4096),  # as Java's admin client makes them
        ("c", SHA_512): credential(bytes(range(20)), 5000),
    }
    unknown = UnknownUsers(lambda: (known,), lambda: b"of the cluster")
    assert shapes(unknown) == {(8192, 64, False), (4096, 26, True)}
    assert shapes(unknown, SHA_512) == {(5000, 20, False)}


def test_a_new_user_changes_few_of_them() -> None:
    known = {(f"{count}", SHA_256): credential(bytes(16), 4096 + count) for count in range(9)}
    more = {**known, ("new", SHA_256): credential(bytes(16), 9999)}
    now = known
    unknown = UnknownUsers(lambda: (now,), lambda: b"of the cluster")
    before = [unknown.credential(SHA_256, name) for name in NAMES]
    now = more
    after = [unknown.credential(SHA_256, name) for name in NAMES]
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert 5 < len(changed) < 50
    assert {each.iterations for each in changed} == {9999}


def test_they_are_the_same_at_every_broker_and_differ_between_names_and_clusters() -> None:
    def image(cluster: str, directory: int) -> ClusterImage:
        brokers = {
            1: BrokerImage(1, 5, bytes(16), {}, None, (bytes([directory] * 16), bytes([250] * 16))),
            2: BrokerImage(2, 6, bytes(16), {}, None, (bytes(16),)),
        }
        return ClusterImage(cluster_id=cluster, brokers=brokers)

    def salt(of: ClusterImage, name: str = "nobody") -> bytes:
        return Users(SecurityImage, secret=lambda: secret_of(of)).unknown.credential(SHA_256, name).salt

    assert salt(image("one", 7)) == salt(image("one", 7))
    assert len({salt(image("one", 7)), salt(image("two", 7)), salt(image("one", 8))}) == 3
    assert salt(image("one", 7)) != salt(image("one", 7), "somebody")
    assert salt(ClusterImage())  # before there is any metadata


def test_no_salt_is_made_from_a_password() -> None:
    """A client is shown salts before it has proved anything, and could try passwords on them at home."""

    def salts(password: str) -> list[bytes]:
        users = Users(
            SecurityImage,
            secret=lambda: b"of the cluster",
            own=("broker", password),
            own_salt=b"random",
            passwords={"carol": password},
        )
        own = users.find(SHA_256, "broker", False)
        assert own is not None
        return [own.credential.salt, users.unknown.credential(SHA_256, "nobody").salt]

    assert salts("one") == salts("two")
