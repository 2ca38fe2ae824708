"""The gate of a listener with SASL: what passes before authentication, and how it fails and ends."""

import asyncio
import gc
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.sasl import PASSWORDS, SECURITY, LoopClock, SaslRig, gate_of, log_in
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.broker.handlers.authentication import sasl_authenticate
from tidelog.broker.requests import dispatch
from tidelog.broker.requests.answer import NO_RESPONSE
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.gate import Gate, Refusal, gates
from tidelog.broker.security.audit.audit import Audit
from tidelog.broker.security.users import Users
from tidelog.metadata.image.security import SecurityImage
from tidelog.security.audit.event import AuditEvent, AuditKind
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.sasl_authenticate import SaslAuthenticateRequest


def frame(api_key: int, rest: bytes = b"\0" * 8) -> memoryview:
    return memoryview(bytearray(api_key.to_bytes(2, "big") + rest))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_user_with_its_password_gets_its_principal(mechanism: str) -> None:
    async def scenario() -> None:
        connection = SaslRig().connect()
        assert connection.principal == "User:ANONYMOUS"
        await log_in(connection, mechanism)
        assert connection.principal == "User:alice"
        assert connection.fast_path is None
        assert gate_of(connection).frame_bytes_max(1000) == 1000

    run(scenario())


def test_only_three_apis_pass_before_authentication() -> None:
    async def scenario() -> None:
        rig = SaslRig()
        for api_key in ApiKey:
            connection = rig.connect()
            assert connection.fast_path is not None
            if api_key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
                assert connection.fast_path(frame(api_key), connection) is None
            else:
                with pytest.raises(ProtocolError, match="before it was authenticated"):
                    connection.fast_path(frame(api_key), connection)
        with pytest.raises(ProtocolError):
            gate_of(connection).take(memoryview(b""), connection)
        assert gate_of(connection).frame_bytes_max(1000) == 512

    run(scenario())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_failures_are_alike_in_text_and_time(mechanism: str) -> None:
    async def scenario() -> None:
        outcomes = []
        for user in ("alice", "no-such-user"):
            rig = SaslRig()
            connection = rig.connect()
            began = asyncio.get_running_loop().time()
            refusal = await log_in(connection, mechanism, user, "wrong")
            passed = asyncio.get_running_loop().time() - began
            outcomes.append((refusal, round(passed, 6), rig.slow_steps))
            assert gate_of(connection).is_ended
            assert connection.principal == "User:ANONYMOUS"
            assert "wrong" not in rig.failures[0] or "wrong password" in rig.failures[0]
        assert outcomes[0] == outcomes[1]
        assert isinstance(outcomes[0][0], Refusal)
        assert outcomes[0][0].code is ErrorCode.SASL_AUTHENTICATION_FAILED
        assert outcomes[0][1] == 0.1

    run(scenario())


def test_a_refused_client_may_send_nothing_more() -> None:
    async def scenario() -> None:
        connection = SaslRig().connect()
        await log_in(connection, password="wrong")
        with pytest.raises(ProtocolError):
            gate_of(connection).take(frame(ApiKey.SASL_HANDSHAKE), connection)

    run(scenario())


def test_names_cannot_forge_lines_of_the_log() -> None:
    async def scenario() -> None:
        rig = SaslRig()
        await log_in(rig.connect(), "PLAIN", "x\n2026 INFO User:admin logged in\x1b[2K", "wrong")
        assert "\n" not in rig.failures[0]
        assert "\x1b" not in rig.failures[0]

    run(scenario())


def test_a_mechanism_that_is_not_enabled() -> None:
    async def scenario() -> None:
        rig = SaslRig()
        connection = rig.connect()
        gate = gate_of(connection)
        assert gate.handshake(connection, "GSSAPI\n", raw=False) is ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert gate.mechanisms == ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]
        assert gate.is_ended
        assert "\n" not in rig.failures[0]

    run(scenario())


def test_an_exchange_cannot_change_its_mechanism() -> None:
    async def scenario() -> None:
        connection = SaslRig().connect()
        gate = gate_of(connection)
        gate.handshake(connection, "SCRAM-SHA-256", raw=False)
        with pytest.raises(ProtocolError, match="second SaslHandshake"):
            gate.handshake(connection, "PLAIN", raw=False)

    run(scenario())


def test_a_token_before_the_handshake_or_out_of_place() -> None:
    async def scenario() -> None:
        rig = SaslRig()
        connection = rig.connect()
        gate = gate_of(connection)
        with pytest.raises(ProtocolError, match="before SaslHandshake"):
            await gate.authenticate(connection, b"\0alice\0alice-secret")
        gate.handshake(connection, "PLAIN", raw=False)
        step = await gate.authenticate(connection, b"bob\0alice\0alice-secret")
        assert isinstance(step, Refusal)
        assert "another user" in rig.failures[0]

    run(scenario())


def test_bare_tokens_after_the_old_handshake() -> None:
    async def scenario() -> None:
        connection = SaslRig().connect()
        gate = gate_of(connection)
        gate.handshake(connection, "PLAIN", raw=True)
        under_way = gate.take(memoryview(b"\0alice\0alice-secret"), connection)
        assert under_way is not None
        with pytest.raises(ProtocolError):  # one at a time
            gate.take(memoryview(b"\0alice\0alice-secret"), connection)
        reply = await under_way
        assert reply.parts == [bytes(4)]
        assert connection.principal == "User:alice"

        connection = SaslRig().connect()
        gate_of(connection).handshake(connection, "PLAIN", raw=True)
        under_way = gate_of(connection).take(memoryview(b"\0alice\0wrong"), connection)
        assert under_way is not None
        reply = await under_way
        assert reply.close
        assert not reply.parts

    run(scenario())


def test_a_refused_bearer_token_hears_it_late_and_twice() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        rig = SaslRig()
        connection = rig.connect()
        gate = gate_of(connection)
        gate.handshake(connection, "OAUTHBEARER", raw=False)
        step = await gate.authenticate(connection, b"n,,\x01auth=Bearer junk\x01\x01")
        assert not isinstance(step, Refusal)
        assert b"invalid_token" in step.token
        assert round(loop.time(), 6) == 0.1
        assert isinstance(await gate.authenticate(connection, b"\x01"), Refusal)
        assert "junk" not in rig.failures[0]

    run(scenario())


def test_without_a_limit_a_session_lasts_and_cannot_begin_again() -> None:
    async def scenario() -> None:
        connection = SaslRig().connect()
        step = await log_in(connection)
        assert not isinstance(step, Refusal)
        assert step.lifetime_ms == 0
        gate = gate_of(connection)
        assert gate.handshake(connection, "SCRAM-SHA-256", raw=False) is ErrorCode.ILLEGAL_SASL_STATE
        assert not gate.is_ended
        refusal = await gate.authenticate(connection, b"x")
        assert isinstance(refusal, Refusal)
        assert refusal.code is ErrorCode.ILLEGAL_SASL_STATE
        await asyncio.sleep(1_000_000)
        assert gate.is_open

    run(scenario())


def test_a_session_ends_and_takes_the_produce_shortcut_with_it() -> None:
    async def scenario() -> None:
        connection = SaslRig(reauth_ms=60_000).connect()
        step = await log_in(connection)
        assert not isinstance(step, Refusal)
        assert step.lifetime_ms == 60_000
        gate = gate_of(connection)
        connection.fast_path = lambda frame, connection: None  # as the shortcut sets its own
        await asyncio.sleep(59.9)
        assert gate.is_open
        await asyncio.sleep(0.2)
        assert connection.fast_path == gate.take
        for api_key in (ApiKey.PRODUCE, ApiKey.API_VERSIONS, ApiKey.METADATA):
            with pytest.raises(ProtocolError, match="session had ended"):
                gate.take(frame(api_key), connection)
        assert not gate.is_overdue(asyncio.get_running_loop().time() + 1000)
        assert gate.frame_bytes_max(1000) == 512
        await log_in(connection)
        assert gate.is_open
        assert connection.fast_path is None

    run(scenario())


def test_authentication_again_before_the_end_extends_the_session() -> None:
    async def scenario() -> None:
        connection = SaslRig(reauth_ms=60_000).connect()
        await log_in(connection)
        await asyncio.sleep(50)
        await log_in(connection)
        await asyncio.sleep(50)
        assert gate_of(connection).is_open
        await asyncio.sleep(11)
        assert not gate_of(connection).is_open

    run(scenario())


def test_authentication_again_cannot_change_the_user_or_the_mechanism_or_be_too_frequent() -> None:
    async def scenario() -> None:
        rig = SaslRig(reauth_ms=60_000)
        connection = rig.connect()
        await log_in(connection)
        assert isinstance(await log_in(connection, user="bob"), Refusal)
        assert connection.principal == "User:alice"
        assert "cannot become" in rig.failures[0]

        connection = rig.connect()
        await log_in(connection)
        assert gate_of(connection).handshake(connection, "PLAIN", raw=False) is ErrorCode.ILLEGAL_SASL_STATE
        assert gate_of(connection).is_ended

        connection = rig.connect()
        await log_in(connection)
        await log_in(connection)
        assert (
            gate_of(connection).handshake(connection, "SCRAM-SHA-256", raw=False)
            is ErrorCode.ILLEGAL_SASL_STATE
        )
        assert not gate_of(connection).is_ended

    run(scenario())


def test_a_token_ends_the_session_when_it_ends_itself() -> None:
    async def scenario() -> None:
        connection = SaslRig(reauth_ms=60_000).connect()
        step = await log_in(connection, "OAUTHBEARER", password="alice@20")
        assert not isinstance(step, Refusal)
        assert step.lifetime_ms == 20_000 - 2
        await asyncio.sleep(20)
        assert not gate_of(connection).is_open

    run(scenario())


def test_a_changed_password_counts_with_the_next_authentication() -> None:
    async def scenario() -> None:
        security = SECURITY
        rig = SaslRig(security=lambda: security, reauth_ms=60_000)
        connection = rig.connect()
        await log_in(connection)
        security = SecurityImage()
        assert gate_of(connection).is_open
        assert isinstance(await log_in(connection), Refusal)

    run(scenario())


def test_a_broker_with_too_much_to_do_does_not_say_that_a_password_is_wrong() -> None:
    """Clients give up for good after an error, and connect again after a connection that is closed."""

    async def scenario() -> None:
        rig = SaslRig(is_busy=True)
        connection = rig.connect()
        gate_of(connection).handshake(connection, "PLAIN", raw=False)
        context: Any = SimpleNamespace(connection=connection, closes=False, charge=None, throttle_ms=0)
        request = SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + PASSWORDS["alice"].encode())
        answer = await sasl_authenticate.handle(context, request)
        assert answer is NO_RESPONSE
        reply = dispatch._reply(answer, None, 0, context)  # type: ignore[arg-type]
        assert reply is not None
        assert (reply.parts, reply.close) == ([], True)
        assert "1002 jobs are waiting" in rig.failures[0]

        connection = rig.connect()
        gate_of(connection).handshake(connection, "PLAIN", raw=True)
        under_way: Any = gate_of(connection).take(memoryview(request.auth_bytes), connection)
        assert (await under_way).close

    run(scenario())


def test_a_configured_password_does_not_wait_behind_others() -> None:
    async def scenario() -> None:
        rig = SaslRig(users=Users(SecurityImage, own=("broker", "own-secret")), is_busy=True)
        connection = rig.connect()
        assert not isinstance(await log_in(connection, "PLAIN", "broker", "own-secret"), Refusal)
        assert (connection.principal, rig.slow_steps) == ("User:broker", 0)
        assert isinstance(await log_in(rig.connect(), "PLAIN", "broker", "wrong"), Refusal)
        assert rig.slow_steps == 1

    run(scenario())


def test_a_connection_has_its_time() -> None:
    async def scenario() -> None:
        gate = gate_of(SaslRig().connect())
        now = asyncio.get_running_loop().time()
        assert not gate.is_overdue(now + 29)
        assert gate.is_overdue(now + 30)

    run(scenario())


def test_a_closed_connection_leaves_no_timer() -> None:
    async def scenario() -> None:
        connection = SaslRig(reauth_ms=60_000).connect()
        await log_in(connection)
        gate_of(connection).end()
        gate_of(connection).on_change = lambda: pytest.fail("a timer was left")
        await asyncio.sleep(100)

    run(scenario())


def test_no_failure_shows_a_password() -> None:
    async def scenario() -> None:
        rig = SaslRig()
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            await log_in(rig.connect(), mechanism, "alice", PASSWORDS["bob"])
        assert not any(PASSWORDS["bob"] in failure for failure in rig.failures)

    run(scenario())


def test_the_audit_hears_of_failures_and_of_successes() -> None:
    async def scenario() -> None:
        events: list[AuditEvent] = []
        sink: Any = SimpleNamespace(write=lambda line: None)
        audit = Audit(AuditKind, [sink], LoopClock(), 1)
        audit.record = events.append  # type: ignore[method-assign]
        rig = SaslRig()
        for password in (None, "wrong"):
            connection = ClientConnection("192.0.2.1", 5555, "SASL_PLAINTEXT")
            gates({"SASL_PLAINTEXT": rig.listener}, LoopClock(), lambda: audit)(connection)
            await log_in(connection, password=password)
        assert [(event.kind, event.actor.principal) for event in events] == [
            (AuditKind.AUTHENTICATED, "User:alice"),
            (AuditKind.AUTHENTICATION_FAILED, "User:ANONYMOUS"),
        ]
        assert ("user", "alice") in events[1].details
        connection = ClientConnection("192.0.2.1", 5555, "SASL_PLAINTEXT")
        gates({"SASL_PLAINTEXT": rig.listener}, LoopClock(), lambda: audit)(connection)
        gate_of(connection).handshake(connection, "GSSAPI", raw=False)
        assert events[2].kind is AuditKind.AUTHENTICATION_FAILED
        assert events[2].details == (("mechanism", "GSSAPI"),)

    run(scenario())


def test_a_closed_connection_is_freed_without_the_collector() -> None:
    async def scenario() -> None:
        async def come_and_go(rig: SaslRig) -> None:
            connection = rig.connect()
            await log_in(connection)
            gate = gate_of(connection)
            held = SimpleNamespace(client=connection)  # as the server's connection does
            gate.on_change = lambda: held.client
            gate.end()

        def alive() -> int:
            return sum(isinstance(each, Gate | ClientConnection) for each in gc.get_objects())

        gc.collect()
        gc.disable()
        try:
            before = alive()
            await come_and_go(SaslRig(reauth_ms=60_000))
            await asyncio.sleep(0)
            assert alive() == before
        finally:
            gc.enable()

    run(scenario())
