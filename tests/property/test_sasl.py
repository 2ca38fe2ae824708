"""Any bytes at any step of an authentication: it ends with an answer or a refusal, never in between."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.sasl import PASSWORDS, SaslRig, gate_of
from tests.rigs.virtual_time import run
from tidelog.base.errors import ProtocolError
from tidelog.broker.requests.gate import Refusal
from tidelog.security.sasl.jaas import JaasError, parse_modules
from tidelog.security.sasl.users_file import UsersFileError, parse_users

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]
PIECES = st.sampled_from(
    [
        b"n,,",
        b"n=alice",
        b",r=abc",
        b"r=",
        b"c=biws",
        b",p=",
        b"\0",
        b"alice",
        b"\x01",
        b"auth=Bearer ",
        b"=2C",
    ]
)
MESSAGES = st.one_of(
    st.binary(max_size=200), st.lists(PIECES, max_size=8).map(b"".join), st.just(b"a" * 9_000)
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("handshake"), st.one_of(st.sampled_from(MECHANISMS), st.text(max_size=5))),
        st.tuples(st.just("token"), MESSAGES),
        st.tuples(st.just("right"), st.sampled_from(["alice", "bob"])),
        st.tuples(st.just("frame"), MESSAGES),
        st.tuples(st.just("wait"), st.floats(0, 100)),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from([0, 50_000]), st.booleans())
def test_any_bytes_at_any_step(steps: list[tuple[str, object]], reauth_ms: int, raw: bool) -> None:
    async def scenario() -> None:
        rig = SaslRig(reauth_ms=reauth_ms)
        connection = rig.connect()
        gate = gate_of(connection)
        knew_password = False
        began = asyncio.get_running_loop().time()
        waited = 0.0
        for kind, given_ in steps:
            if gate.is_ended:
                break
            try:
                if kind == "wait":
                    waited += float(given_)  # type: ignore[arg-type]
                    await asyncio.sleep(float(given_))  # type: ignore[arg-type]
                elif kind == "handshake":
                    gate.handshake(connection, str(given_), raw=raw)
                elif kind == "frame":
                    reply = gate.take(memoryview(bytes(given_)), connection)  # type: ignore[call-overload]
                    if reply is not None:
                        await reply
                elif kind == "right":
                    knew_password = True
                    user = str(given_)
                    await gate.authenticate(connection, f"\0{user}\0{PASSWORDS[user]}".encode())
                else:
                    outcome = await gate.authenticate(connection, bytes(given_))  # type: ignore[call-overload]
                    if isinstance(outcome, Refusal) and outcome.code == 58:
                        assert gate.is_ended
            except ProtocolError:
                break
        assert connection.principal in ("User:ANONYMOUS", "User:alice", "User:bob")
        if not knew_password:
            assert connection.principal == "User:ANONYMOUS"
            assert not gate.is_open
        assert asyncio.get_running_loop().time() - began - waited < 0.2 * (len(steps) + 1)
        gate.end()

    run(scenario())


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab=;\"'\\ \n/*#.$:_" + "Ω"), max_size=60))
def test_texts_of_the_configuration_are_read_or_refused(text: str) -> None:
    for parse, error in ((parse_modules, JaasError), (parse_users, UsersFileError)):
        try:
            parse(text)
        except error:
            pass
