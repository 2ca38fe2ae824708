"""Delegation tokens as users of SCRAM: the name is the token's id, the password its HMAC in Base64."""

import base64
from collections import OrderedDict
from collections.abc import Callable

from tidelog.base.ids import TimestampMs
from tidelog.metadata.image.security import SecurityImage
from tidelog.metadata.security.tokens import token_hmac
from tidelog.security.principal import parse_principal
from tidelog.security.sasl.conversation import Authenticated
from tidelog.security.sasl.scram_credential import (
    ScramCredential,
    ScramMechanism,
    keyed_digest,
    new_credential,
)
from tidelog.security.sasl.scram_server import KnownUser

KEPT_MAX = 10_000


class TokenUsers:
    def __init__(
        self, security: Callable[[], SecurityImage], secret: bytes, now_ms: Callable[[], TimestampMs]
    ) -> None:
        self._security = security
        self._secret = secret
        self._now_ms = now_ms
        self._kept: OrderedDict[tuple[str, ScramMechanism], ScramCredential] = OrderedDict()

    def find(self, mechanism: ScramMechanism, token_id: str) -> KnownUser | None:
        """Returns None for a token that does not exist or is not valid any more. Slow for a new token."""
        token = self._security().tokens.get(token_id)
        if token is None or not token.is_valid(self._now_ms()):
            return None
        authenticated = Authenticated(
            parse_principal(token.owner), min(token.expires_ms, token.ends_ms), is_token=True
        )
        return KnownUser(self._credential(mechanism, token_id), authenticated)

    def _credential(self, mechanism: ScramMechanism, token_id: str) -> ScramCredential:
        credential = self._kept.get((token_id, mechanism))
        if credential is None:
            password = base64.b64encode(token_hmac(self._secret, token_id)).decode()
            salt = keyed_digest(mechanism, self._secret, f"salt:{token_id}".encode())[:16]
            credential = new_credential(mechanism, password, salt)
            self._kept[token_id, mechanism] = credential
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        return credential
