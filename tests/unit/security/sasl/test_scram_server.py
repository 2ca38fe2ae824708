"""SCRAM on the broker's side: the example of the standard, our own client, and every way to cheat."""

import base64
from itertools import product

import pytest

from tidelog.blocking.sasl import scram
from tidelog.security.principal import Principal
from tidelog.security.sasl.conversation import AuthenticationFailed
from tidelog.security.sasl.scram_credential import (
    ScramMechanism,
    digest,
    keyed_digest,
    new_credential,
    salted_password,
)
from tidelog.security.sasl.scram_server import ScramServer, of_user

SHA_256 = ScramMechanism.SHA_256
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
PENCIL = new_credential(SHA_256, "pencil", SALT)
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)


def server(nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", users=("user",), mechanism=SHA_256, credential=PENCIL):
    return ScramServer(
        mechanism,
        lambda name, is_token: of_user(name, credential) if name in users and not is_token else None,
        nonce=nonce,
        unknown=lambda name: new_credential(mechanism, "x", name.encode()),
    )


def test_the_example_of_rfc_7677() -> None:
    scram_server = server()
    assert scram_server.respond(FIRST) == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert scram_server.result is None
    assert scram_server.respond(FINAL) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert scram_server.result is not None
    assert scram_server.result.principal == Principal("User", "user")


@pytest.mark.parametrize(
    ("mechanism", "user"), list(product(ScramMechanism, ["alice", "a,b=c", "Zoë", "with space", "=2C"]))
)
def test_our_own_client(mechanism, user) -> None:
    credential = new_credential(mechanism, "pa,ss=wörd", b"salt" * 4, 4096)
    scram_server = server(users=(user,), mechanism=mechanism, credential=credential)
    client = scram(mechanism.mechanism_name, user, "pa,ss=wörd", "fyko+d2lbbFgONRv9qkxdawL")
    final = client.send(scram_server.respond(next(client)))
    with pytest.raises(StopIteration):
        client.send(scram_server.respond(final))
    assert scram_server.result.principal.name == user


def proved(final: str, first: bytes, challenge: bytes) -> bytes:
    """The final message of a client that knows the password."""
    signed = f"{first.decode().removeprefix('n,,')},{challenge.decode()},{final}".encode()
    salted = salted_password(SHA_256, "pencil", SALT, 4096)
    key = keyed_digest(SHA_256, salted, b"Client Key")
    signature = keyed_digest(SHA_256, digest(SHA_256, key), signed)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{final},p={base64.b64encode(proof).decode()}".encode()


def test_librdkafka_before_2_6_1_sends_its_own_nonce_twice() -> None:
    scram_server = server()
    challenge = scram_server.respond(FIRST)
    nonce = challenge.decode().split(",")[0].removeprefix("r=")
    client_nonce = FIRST.decode().rpartition("r=")[2]
    scram_server.respond(proved(f"c=biws,r={client_nonce}{nonce}", FIRST, challenge))
    assert scram_server.result is not None


def test_no_other_nonce_is_accepted() -> None:
    client_nonce = FIRST.decode().rpartition("r=")[2]
    for wrong in (client_nonce, f"{client_nonce}{client_nonce}", f"{client_nonce}other"):
        scram_server = server()
        final = proved(f"c=biws,r={wrong}", FIRST, scram_server.respond(FIRST))
        with pytest.raises(AuthenticationFailed, match="nonce"):
            scram_server.respond(final)


def test_a_wrong_password_and_an_unknown_user_look_alike() -> None:
    reasons = []
    for users, credential in [((), PENCIL), (("user",), new_credential(SHA_256, "other", SALT))]:
        scram_server = server(users=users, credential=credential)
        assert scram_server.respond(FIRST).startswith(b"r=rOprNGfwEbeRWgbNEkqO%hvYD")
        with pytest.raises(AuthenticationFailed) as failed:
            scram_server.respond(FINAL)
        assert scram_server.result is None
        reasons.append(str(failed.value))
    assert reasons == ["user 'user': no such user", "user 'user': wrong password"]


def test_the_salt_of_an_unknown_user_stays_the_same_and_differs_from_others() -> None:
    challenges = {
        name: {server(users=()).respond(f"n,,n={name},r=abc".encode()) for _ in range(3)}
        for name in ("x", "y")
    }
    assert [len(seen) for seen in challenges.values()] == [1, 1]
    assert challenges["x"] != challenges["y"]


def test_a_recorded_exchange_is_of_no_use_a_second_time() -> None:
    later = server(nonce="another")
    later.respond(FIRST)
    with pytest.raises(AuthenticationFailed, match="nonce"):
        later.respond(FINAL)


def test_nothing_is_answered_after_the_end() -> None:
    scram_server = server()
    scram_server.respond(FIRST)
    scram_server.respond(FINAL)
    with pytest.raises(AuthenticationFailed):
        scram_server.respond(FINAL)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,",
        b"n,,n=,r=abc",
        b"n,,n=user",
        b"n,,n=user,r=",
        b"n,,r=abc,n=user",
        b"p=tls-unique,,n=user,r=abc",
        b"n,,m=ext,n=user,r=abc",
        b"n,,n=us\0er,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=a\xffbc",
        b"n,,n=user,r=abc\n",
        b"n,a=root,n=user,r=abc",
        b"n,,n=user,r=" + b"x" * 10_000,
    ],
)
def test_first_messages_that_are_refused(first) -> None:
    with pytest.raises(AuthenticationFailed):
        server().respond(first)


@pytest.mark.parametrize(
    "final",
    [
        b"",
        FINAL[:-1],
        FINAL.replace(b"c=biws", b"c=eSws"),
        FINAL.replace(b"c=biws", b"c=cD10bHMtdW5pcXVlLCw="),
        FINAL.replace(b"p=dHz", b"p=dHy"),
        FINAL.replace(b",p=", b",q="),
        FINAL.replace(b"r=rOpr", b"r=rOps"),
        FINAL[: FINAL.index(b",p=")] + b",p=AAAA",
        FINAL + b",p=AAAA",
    ],
)
def test_final_messages_that_are_refused(final) -> None:
    scram_server = server()
    scram_server.respond(FIRST)
    with pytest.raises(AuthenticationFailed):
        scram_server.respond(final)
    assert scram_server.result is None


def test_an_authorization_id_that_is_the_user_itself() -> None:
    scram_server = server()
    challenge = scram_server.respond(FIRST.replace(b"n,,", b"n,a=user,"))
    assert challenge.endswith(b"i=4096")


def test_a_credential_does_not_show_its_keys() -> None:
    assert repr(PENCIL) == "ScramCredential(iterations=4096)"
