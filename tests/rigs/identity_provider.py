"""A small identity provider: its keys, the JWKS document that lists them, and tokens signed with them."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER = "https://login.example"
AUDIENCE = "kafka"


class IdentityProvider:
    def __init__(self) -> None:
        self._keys: dict[str, rsa.RSAPrivateKey] = {}
        self.new_key()

    def new_key(self) -> str:
        """From now on tokens are signed with another key."""
        key_id = f"key-{len(self._keys)}"
        self._keys[key_id] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return key_id

    def write_keys(self, path: Path) -> str:
        """Returns the URL for `sasl.oauthbearer.jwks.endpoint.url`."""
        entries = []
        for key_id, key in self._keys.items():
            entry: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            entries.append({**entry, "kid": key_id, "alg": "RS256", "use": "sig"})
        path.write_text(json.dumps({"keys": entries}))
        return path.as_uri()

    def token(self, user: str, seconds: float = 3600, **claims: object) -> str:
        now = time.time()
        given = {"sub": user, "iss": ISSUER, "aud": AUDIENCE, "scope": "kafka", "iat": int(now)}
        key_id, key = list(self._keys.items())[-1]
        return jwt.encode(
            {**given, "exp": now + seconds, **claims}, key, algorithm="RS256", headers={"kid": key_id}
        )
