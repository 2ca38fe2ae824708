"""Basic and Bearer credentials: checked beside the loop, once, and again when they may have changed."""

import asyncio
import base64

import pytest

from tests.rigs.sasl import PASSWORDS, SECURITY
from tidelog.base.errors import TidelogError
from tidelog.broker.security.authentication import NotChecked
from tidelog.broker.security.sasl_listener import Mechanism
from tidelog.broker.security.users import Users
from tidelog.security.jwt import Token, TokenRefused
from tidelog.security.sasl.oauthbearer_server import OauthBearerServer
from tidelog.security.sasl.plain_server import PlainServer
from tidelog.server.registry.authentication import (
    BASIC,
    BEARER,
    KEPT_SECONDS,
    HttpAuthentication,
    Unauthenticated,
)


class Logins:
    """An authentication whose clock, users and threads a test controls."""

    def __init__(self, kept_max=100, schemes=(BASIC, BEARER)):
        self.now = 1000.0
        self.checks = 0
        self.is_busy = False
        self.users = Users(lambda: SECURITY)
        self.version = (1,)
        mechanisms = {
            BASIC: Mechanism(lambda: PlainServer(self.users.is_password), self.run, 0),
            BEARER: Mechanism(lambda: OauthBearerServer(self.verify), self.run, 0),
        }
        self.authentication = HttpAuthentication(
            {scheme: mechanisms[scheme] for scheme in schemes}, self, lambda: self.version, kept_max
        )

    def monotonic(self):
        return self.now

    def now_ms(self):
        return int(self.now * 1000)

    async def run(self, job):
        self.checks += 1
        await asyncio.sleep(0)
        if self.is_busy:
            raise TidelogError("too many wait")
        return job()

    def verify(self, token):
        if token != "good":
            raise TokenRefused("not good")
        return Token("robot", (), self.now_ms() + 60_000)

    def ask(self, *headers):
        async def all_of_them():
            asked = [self.authentication.principal(header) for header in headers]
            return await asyncio.gather(*asked, return_exceptions=True)

        return asyncio.run(all_of_them())


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


ALICE = basic("alice", PASSWORDS["alice"])


def test_a_right_password_is_checked_once():
    logins = Logins()
    assert logins.ask(ALICE) == ["User:alice"]
    assert logins.ask(ALICE, ALICE) == ["User:alice"] * 2
    assert logins.checks == 1


def test_requests_at_one_time_share_a_check():
    logins = Logins()
    assert logins.ask(*[ALICE] * 20) == ["User:alice"] * 20
    assert logins.checks == 1
    refused = logins.ask(*[basic("alice", "wrong")] * 5)
    assert all(isinstance(one, Unauthenticated) for one in refused)
    assert logins.checks == 2


def test_a_wrong_password_is_not_remembered():
    logins = Logins()
    for _ in range(2):
        (refused,) = logins.ask(basic("alice", "wrong"))
        assert isinstance(refused, Unauthenticated)
        assert (refused.scheme, refused.user) == (BASIC, "alice")
    assert logins.checks == 2


@pytest.mark.parametrize("change", ["users", "time"])
def test_a_password_is_checked_again_once_it_may_have_changed(change):
    logins = Logins()
    logins.ask(ALICE)
    if change == "users":
        logins.version = (2,)
    else:
        logins.now += KEPT_SECONDS
    assert logins.ask(ALICE) == ["User:alice"]
    assert logins.checks == 2


def test_a_token_is_remembered_until_it_ends():
    logins = Logins()
    assert logins.ask("Bearer good", "bearer good") == ["User:robot"] * 2
    logins.now += 59
    logins.ask("Bearer good")
    assert logins.checks == 2, "each spelling of the header once"
    logins.now += 2
    logins.ask("Bearer good")
    assert logins.checks == 3


def test_what_is_remembered_has_a_bound():
    logins = Logins(kept_max=2)
    bob = basic("bob", PASSWORDS["bob"])
    for header in (ALICE, bob, "Bearer good", ALICE):
        logins.ask(header)
    assert logins.checks == 4, "alice was forgotten for the third"
    logins.ask("Bearer good")
    assert logins.checks == 4


def test_a_broker_that_is_busy_refuses_nobody_for_good():
    logins = Logins()
    logins.is_busy = True
    (busy,) = logins.ask(ALICE)
    assert isinstance(busy, NotChecked)
    logins.is_busy = False
    assert logins.ask(ALICE) == ["User:alice"]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"a\0b:c").decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:x").decode(),
        "Basic " + base64.b64encode(b":").decode(),
        "Basic " + "A" * 100_000,
        "Bearer bad",
        "Bearer a\x01b",
        "Bearer \xff",
        "Digest username=alice",
        "\ud800",
    ],
)
def test_what_is_no_credential_is_refused(header):
    (refused,) = Logins().ask(header)
    assert isinstance(refused, Unauthenticated)


def test_a_scheme_that_is_not_enabled_is_refused():
    logins = Logins(schemes=(BEARER,))
    (refused,) = logins.ask(ALICE)
    assert isinstance(refused, Unauthenticated)
    assert logins.authentication.challenges == ['Bearer realm="schema registry"']
