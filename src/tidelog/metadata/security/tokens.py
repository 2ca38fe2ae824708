"""Delegation tokens (KIP-48): short-lived passwords that a user hands to its jobs.

A token is an id and, as its password, the HMAC of the id under a secret that all brokers share. The metadata
holds the ids alone: a reader of the metadata log cannot log in with them.
"""

import hmac
from collections.abc import Collection, Iterator

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record
from tidelog.metadata.image.security import DelegationToken
from tidelog.metadata.image.security_builder import token_record
from tidelog.metadata.image.security_records import DelegationTokenDeleted

TOKENS_MAX = 10_000
TOKENS_OF_REQUESTER_MAX = 1_000
"""Every user may ask for tokens, and one must not use up those of all."""

RENEWERS_MAX = 32
RENEWER_CHARACTERS_MAX = 512


class TokenTimes(msgspec.Struct, frozen=True):
    expiry_ms: int
    """`delegation.token.expiry.time.ms`: how far a renewal reaches."""
    lifetime_max_ms: int
    """`delegation.token.max.lifetime.ms`: how old a token can get."""


class ChangedToken(ItemResult, frozen=True, kw_only=True):
    token: DelegationToken | None = None
    expires_ms: TimestampMs = -1


def token_hmac(secret: bytes, token_id: str) -> bytes:
    return hmac.digest(secret, token_id.encode(), "sha512")


def decide_create_token(
    image: ClusterImage,
    token_id: str,
    *,
    owner: str,
    requester: str,
    renewers: tuple[str, ...],
    lifetime_ms: int,
    times: TokenTimes,
    now_ms: TimestampMs,
) -> Decision[ChangedToken]:
    if any(not renewer.removeprefix("User:") or not renewer.startswith("User:") for renewer in renewers):
        return _refused(ErrorCode.INVALID_PRINCIPAL_TYPE, "Renewers must be principals of the type User")
    if len(renewers) > RENEWERS_MAX or any(len(renewer) > RENEWER_CHARACTERS_MAX for renewer in renewers):
        return _refused(
            ErrorCode.INVALID_REQUEST,
            f"A token may have {RENEWERS_MAX} renewers, with names of {RENEWER_CHARACTERS_MAX} characters",
        )
    if (
        sum(token.requester == requester for token in image.security.tokens.values())
        >= TOKENS_OF_REQUESTER_MAX
    ):
        return _refused(
            ErrorCode.INVALID_REQUEST,
            f"{requester} has requested {TOKENS_OF_REQUESTER_MAX} tokens already; expire some first",
        )
    if len(image.security.tokens) >= TOKENS_MAX:
        return _refused(
            ErrorCode.INVALID_REQUEST, f"The cluster has {TOKENS_MAX} tokens already; expire some first"
        )
    lifetime = times.lifetime_max_ms if lifetime_ms <= 0 else min(lifetime_ms, times.lifetime_max_ms)
    ends = now_ms + lifetime
    token = DelegationToken(
        token_id, owner, requester, renewers, now_ms, min(now_ms + times.expiry_ms, ends), ends
    )
    return Decision([token_record(token)], [ChangedToken(token=token, expires_ms=token.expires_ms)])


def decide_renew_token(
    image: ClusterImage,
    secret: bytes,
    given: bytes,
    *,
    principal: str,
    period_ms: int,
    times: TokenTimes,
    now_ms: TimestampMs,
) -> Decision[ChangedToken]:
    try:
        token = _changeable(image, secret, given, principal, now_ms)
    except KafkaError as error:
        return Decision([], [ChangedToken.refused(error)])
    period = times.expiry_ms if period_ms < 0 else period_ms
    return _with_expiry(token, min(token.ends_ms, now_ms + period))


def decide_expire_token(
    image: ClusterImage,
    secret: bytes,
    given: bytes,
    *,
    principal: str,
    period_ms: int,
    now_ms: TimestampMs,
) -> Decision[ChangedToken]:
    """A negative period ends the token at once."""
    try:
        token = _changeable(image, secret, given, principal, now_ms)
    except KafkaError as error:
        return Decision([], [ChangedToken.refused(error)])
    if period_ms < 0:
        return Decision([DelegationTokenDeleted(token.id)], [ChangedToken(token=token, expires_ms=now_ms)])
    return _with_expiry(token, min(token.ends_ms, now_ms + period_ms))


def decide_forget_expired(image: ClusterImage, now_ms: TimestampMs) -> Decision[None]:
    """The controller's housekeeping."""
    gone: list[Record] = [
        DelegationTokenDeleted(token.id)
        for token in image.security.tokens.values()
        if not token.is_valid(now_ms)
    ]
    return Decision(gone, [])


def described_tokens(
    image: ClusterImage, owners: Collection[str] | None, now_ms: TimestampMs
) -> Iterator[DelegationToken]:
    """Those that are valid, of the given owners or of all."""
    for token in image.security.tokens.values():
        if token.is_valid(now_ms) and (owners is None or token.owner in owners):
            yield token


def _changeable(
    image: ClusterImage, secret: bytes, given: bytes, principal: str, now_ms: TimestampMs
) -> DelegationToken:
    found = [
        token
        for token in image.security.tokens.values()
        if hmac.compare_digest(token_hmac(secret, token.id), given)
    ]
    if not found:
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "Delegation Token is not found on server.")
    token = found[0]
    if principal not in (token.owner, token.requester, *token.renewers):
        raise KafkaError(
            ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH,
            "Specified Principal is not valid Owner/Renewer.",
        )
    if not token.is_valid(now_ms):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED, "Delegation Token is expired.")
    return token


def _with_expiry(token: DelegationToken, expires_ms: TimestampMs) -> Decision[ChangedToken]:
    changed = msgspec.structs.replace(token, expires_ms=expires_ms)
    return Decision([token_record(changed)], [ChangedToken(token=changed, expires_ms=expires_ms)])


def _refused(code: ErrorCode, message: str) -> Decision[ChangedToken]:
    return Decision([], [ChangedToken(error=code, message=message)])
