"""JSON web tokens: whether a key of the identity provider signed one, and whether it is valid here and now.

Only asymmetric signatures count: a token that says `none`, or that is signed with a public key taken for a
shared secret, is refused before its signature is looked at. PyJWT checks signatures; the rules on claims are
here, with the caller's clock.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tidelog.base.errors import TidelogError

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
TOKEN_BYTES_MAX = 64 * 1024


class TokenRefused(TidelogError):
    """The token is not valid here. The text is for the broker's log; it never holds the token."""


class TokenRules(NamedTuple):
    issuer: str | None = None
    audiences: tuple[str, ...] = ()
    """One of them must be in the token; without any the claim is not looked at."""
    scope_claim: str = "scope"
    subject_claim: str = "sub"
    required_scopes: tuple[str, ...] = ()
    clock_skew_s: int = 30


class Token(NamedTuple):
    subject: str
    scopes: frozenset[str]
    expires_at_ms: int


class KeySet:
    """The public keys of an identity provider, as its JWKS document lists them."""

    def __init__(self, document: str | bytes) -> None:
        import jwt  # only clusters with OAUTHBEARER need it

        try:
            listed = [entry for entry in json.loads(document)["keys"] if _is_for_signatures(entry)]
        except (ValueError, KeyError, TypeError) as error:
            raise TokenRefused(f"the JWKS document cannot be read: {error!r}") from error
        self._keys: list[tuple[Mapping[str, Any], jwt.PyJWK]] = []
        for entry in listed:
            # A provider may list keys of a kind that is not known here beside those that are.
            with suppress(ValueError, KeyError, TypeError, jwt.PyJWTError):
                self._keys.append((entry, jwt.PyJWK(entry)))
        if not self._keys:
            raise TokenRefused("the JWKS document has no key that can verify a signature")

    def verify(self, token: str, rules: TokenRules, now_ms: int) -> Token:
        """Raises TokenRefused. A key id that is not listed may be that of a new key: see `lists`."""
        return _checked(self._signed_claims(token), rules, now_ms / 1000)

    def lists(self, token: str) -> bool:
        """Whether the key that the token names is known. False asks for a fresh JWKS document."""
        key_id = _header(token).get("kid")
        return key_id is None or any(entry.get("kid") == key_id for entry, _ in self._keys)

    def _signed_claims(self, token: str) -> Mapping[str, Any]:
        import jwt

        header = _header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise TokenRefused(f"tokens signed with {algorithm!r} are not accepted")
        if "crit" in header:
            raise TokenRefused("the token has critical extensions that are not known here")
        options: Any = {"verify_signature": True, "verify_exp": False, "verify_nbf": False}
        options |= {"verify_iat": False, "verify_aud": False, "verify_iss": False, "verify_sub": False}
        for entry, key in self._keys:
            if key_id is not None and entry.get("kid") != key_id:
                continue
            if key.algorithm_name != algorithm:
                continue
            try:
                claims: Mapping[str, Any] = jwt.decode(token, key, algorithms=[algorithm], options=options)
            except jwt.InvalidSignatureError:
                continue
            except (jwt.PyJWTError, ValueError, TypeError) as error:
                raise TokenRefused(f"the token cannot be read: {error}") from error
            return claims
        raise TokenRefused("no known key signed the token")


def _is_for_signatures(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    return entry.get("use", "sig") == "sig" and entry.get("kty") in ("RSA", "EC", "OKP")


def _header(token: str) -> Mapping[str, Any]:
    import jwt

    if len(token) > TOKEN_BYTES_MAX:
        raise TokenRefused(f"a token of {len(token)} bytes; the limit is {TOKEN_BYTES_MAX}")
    try:
        header: Mapping[str, Any] = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        raise TokenRefused(f"not a JSON web token: {error}") from error
    return header


def _checked(claims: Mapping[str, Any], rules: TokenRules, now_s: float) -> Token:
    expires, skew = _moment(claims, "exp"), rules.clock_skew_s
    if expires is None:
        raise TokenRefused("the token has no expiry (exp)")
    if expires + skew <= now_s:
        raise TokenRefused(f"the token expired {now_s - expires:.0f} s ago")
    for claim in ("nbf", "iat"):
        since = _moment(claims, claim)
        if since is not None and since - skew > now_s:
            raise TokenRefused(f"the token is valid in {since - now_s:.0f} s only ({claim})")
    if rules.issuer is not None and claims.get("iss") != rules.issuer:
        raise TokenRefused(f"the token is from {claims.get('iss')!r}, expected {rules.issuer!r}")
    if rules.audiences and not set(rules.audiences) & set(_texts(claims.get("aud"))):
        raise TokenRefused(f"the token is for {claims.get('aud')!r}, expected {' or '.join(rules.audiences)}")
    subject = claims.get(rules.subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise TokenRefused(f"the token names no subject ({rules.subject_claim})")
    scopes = frozenset(_scopes(claims.get(rules.scope_claim)))
    if missing := set(rules.required_scopes) - scopes:
        raise TokenRefused(f"the token lacks the scope {' '.join(sorted(missing))}")
    return Token(subject, scopes, int(expires * 1000))


def _moment(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e11:
        raise TokenRefused(f"the token's {name} is {value!r}, not a time in seconds")
    return float(value)


def _texts(value: object) -> Sequence[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _scopes(value: object) -> Sequence[str]:
    return value.split() if isinstance(value, str) else _texts(value)
