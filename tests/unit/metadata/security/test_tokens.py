"""Delegation tokens: their life, and who may change it."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.security import DelegationToken, SecurityImage
from tidelog.metadata.security.tokens import (
    RENEWERS_MAX,
    TOKENS_OF_REQUESTER_MAX,
    TokenTimes,
    decide_create_token,
    decide_expire_token,
    decide_forget_expired,
    decide_renew_token,
    described_tokens,
    token_hmac,
)

SECRET = b"shared by the brokers"
TIMES = TokenTimes(expiry_ms=100, lifetime_max_ms=1000)
ALICE, BOB, ADMIN = "User:alice", "User:bob", "User:admin"


def create(image=None, token_id="t1", lifetime_ms=-1, now_ms=0, renewers=(BOB,)):
    return decide_create_token(
        image or ClusterImage(),
        token_id,
        owner=ALICE,
        requester=ADMIN,
        renewers=renewers,
        lifetime_ms=lifetime_ms,
        times=TIMES,
        now_ms=now_ms,
    )


def after(decision, image=None):
    return advance(image or ClusterImage(), decision.records).after


def renew(image, principal=ALICE, period_ms=-1, now_ms=50, given=None):
    given = token_hmac(SECRET, "t1") if given is None else given
    return decide_renew_token(
        image, SECRET, given, principal=principal, period_ms=period_ms, times=TIMES, now_ms=now_ms
    )


@pytest.mark.parametrize(("lifetime", "expires", "ends"), [(-1, 100, 1000), (50, 50, 50), (99999, 100, 1000)])
def test_a_new_token(lifetime, expires, ends) -> None:
    token = create(lifetime_ms=lifetime).results[0].token
    assert (token.expires_ms, token.ends_ms) == (expires, ends)


@pytest.mark.parametrize("principal", [ALICE, BOB, ADMIN])
def test_owner_requester_and_renewer_renew(principal) -> None:
    image = after(create())
    assert renew(image, principal).results[0].expires_ms == 150
    assert renew(image, principal, period_ms=5000).results[0].expires_ms == 1000


def test_nobody_else_does() -> None:
    image = after(create())
    assert renew(image, "User:carol").results[0].error is ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert renew(image, given=b"wrong").results[0].error is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert renew(image, given=b"").results[0].error is ErrorCode.DELEGATION_TOKEN_NOT_FOUND
    assert renew(image, now_ms=100).results[0].error is ErrorCode.DELEGATION_TOKEN_EXPIRED


def test_expire_now_or_later() -> None:
    image = after(create())
    given = token_hmac(SECRET, "t1")
    later = decide_expire_token(image, SECRET, given, principal=ALICE, period_ms=10, now_ms=20)
    assert later.results[0].expires_ms == 30
    assert list(described_tokens(after(later, image), None, 29))
    assert not list(described_tokens(after(later, image), None, 30))
    now = decide_expire_token(image, SECRET, given, principal=BOB, period_ms=-1, now_ms=20)
    assert not after(now, image).security.tokens


def test_tokens_are_described_by_owner_and_forgotten_when_over() -> None:
    image = after(create(token_id="t2", now_ms=500), after(create()))
    assert [token.id for token in described_tokens(image, [ALICE], 50)] == ["t1", "t2"]
    assert not list(described_tokens(image, [BOB], 50))
    assert list(after(decide_forget_expired(image, 150), image).security.tokens) == ["t2"]


def test_renewers_are_users() -> None:
    assert create(renewers=("Group:x",)).results[0].error is ErrorCode.INVALID_PRINCIPAL_TYPE
    # A name that is empty could not be described to anybody later.
    assert create(renewers=("User:",)).results[0].error is ErrorCode.INVALID_PRINCIPAL_TYPE


def test_a_token_does_not_fill_the_metadata() -> None:
    assert create(renewers=(BOB,) * RENEWERS_MAX).records
    assert create(renewers=(BOB,) * (RENEWERS_MAX + 1)).results[0].error is ErrorCode.INVALID_REQUEST
    assert create(renewers=(BOB * 100,)).results[0].error is ErrorCode.INVALID_REQUEST


def test_one_user_does_not_use_up_the_tokens_of_all() -> None:
    kept = {
        f"t{number}": DelegationToken(f"t{number}", ALICE, ADMIN, (), 0, 100, 100)
        for number in range(TOKENS_OF_REQUESTER_MAX)
    }
    image = ClusterImage(security=SecurityImage(tokens=kept))
    assert create(image, "next").results[0].error is ErrorCode.INVALID_REQUEST
    kept.pop("t7")
    assert create(image, "next").records
